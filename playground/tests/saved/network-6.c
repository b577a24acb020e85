/* A network of -1 and +1 trained in the qubonn playground: 5 -> 2 -> 2 -> 1.
   x: 5 inputs, y: 1 outputs; above zero is +1, the rest is -1. */

static const unsigned short network_start[6] = {
    0, 5, 10, 24, 38, 41
};

static const unsigned short network_source[41] = {
    0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
    6, 6, 7, 7, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 6, 6, 7, 7, 8, 9,
    5
};

static const signed char network_weight[41] = {
    1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    -1, 1, 1, -1, -1, 1, 1, -1, 1, 1, 1, -1, -1, 1, -1, 1, -1, -1, -1, -1,
    -1
};

static const signed char network_bias[5] = {
    -1, -1, -1, -1, 1
};

void network(const signed char *x, signed char *y)
{
    signed char a[11];
    int i, j, arc;
    for (i = 0; i < 5; i++)
        a[i] = x[i] > 0 ? 1 : -1;
    a[5] = 1; /* thresholds */
    for (j = 0; j < 5; j++) {
        int sum = network_bias[j];
        for (arc = network_start[j]; arc < network_start[j + 1]; arc++)
            sum += network_weight[arc] * a[network_source[arc]];
        a[6 + j] = sum > 0 ? 1 : -1; /* a tie is -1 */
    }
    for (i = 0; i < 1; i++)
        y[i] = a[10 + i];
}
