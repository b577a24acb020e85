"""What every report says about how its numbers were made and judged; plain text, no marks.

Paper, section "Experimental set-up".
"""

from qubonn.experiments.comparison import Verdict

MARKS = {Verdict.CHANCE: "", Verdict.DRAW: "~", Verdict.MORE: "*", Verdict.UNKNOWN: "?"}
MEANINGS = {
    Verdict.CHANCE: "no more than chance",
    Verdict.DRAW: "more than the chance of runs, no more than other test images bring",
    Verdict.MORE: "more than chance",
    Verdict.UNKNOWN: "cannot be told from these runs",
}

HOW = (
    "Data: four letters of 5 x 5 pixels to train on; ten test images a letter, each with two "
    "pixels inverted, drawn from a seed. The paper shows its images only as a picture, so ours "
    "differ from them in detail.",
    'Engine "QUBO" does what the paper describes: the QUBO with alpha = 1, simulated annealing of '
    "1,000 replicas for 1,000 steps, geometric cooling, temperatures by Nelder-Mead, and of all "
    "replicas the one of lowest energy. Temperatures are tuned once a setting, on a run of their "
    "own; the other reading of the paper, tuning in each run and keeping the best state of all its "
    'anneals, is called "QUBO, each run".',
    'Engine "native" anneals the same energy without count bits and products (LiftedAnnealing, 256 '
    "replicas x 200 sweeps) and also keeps the network of lowest energy.",
    "Constraints and energies are those of the state that the solver returned. Accuracies, S1 and "
    "S2 are those of the network's forward pass.",
    "Dropout: five inputs and 0, 1 or 2 hidden neurons removed in each of ten iterations, decay "
    "0.1, then the whole network in the field that they leave; inverse temperatures 0.2 to 8.6 in "
    "the iterations of the QUBO engine.",
    "A run has a seed of its own, made from the seed of the study, its setting and its number: the "
    "same rows come out wherever and in whatever order the runs are done.",
)

JUDGING = (
    "Means of test accuracy, S1 and S2: Welch's t-test. The paper prints no spread, so ours is "
    "taken for both sides; where all our runs agree, Fisher's exact test on the fewest runs that "
    "must have been otherwise.",
    "Training accuracy and unsatisfied constraints: the larger p of Welch's test and of Fisher's "
    "exact test on images or constraints, as if those of one run were independent.",
    "Smallest, largest and median test accuracy: exact precedence test, which asks how many of our "
    "runs lie below the printed number and holds for any distribution.",
    "A printed number may be off by half a unit of its last digit; that is granted.",
    "Many numbers are compared, so p-values are adjusted by Holm's method over all numbers of a "
    "study and engine; below 0.05 a difference is called more than chance.",
    "The draw of test images matters too. Where a difference in test accuracy is more than the "
    "chance of runs, it is tested again: for means with the variance between five draws added for "
    "the paper's draw and for ours, for the others with the largest p of the five draws. The "
    "shapes of the letters are ours as well; no test accounts for that.",
)
