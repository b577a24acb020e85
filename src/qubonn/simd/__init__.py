"""Many replicas in the lanes of vector registers: a vector type for Numba, and random streams."""
