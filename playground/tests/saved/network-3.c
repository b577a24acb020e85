/* A network of -1 and +1 trained in the qubonn playground: 6 -> 2 -> 2.
   x: 6 inputs, y: 2 outputs; above zero is +1, the rest is -1. */

static const unsigned short network_start[5] = {
    0, 14, 28, 32, 36
};

static const unsigned short network_source[36] = {
    0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 0, 0, 1, 1, 2, 2,
    3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 7, 7, 8, 8
};

static const signed char network_weight[36] = {
    1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    -1, 1, 1, -1, -1, 1, 1, -1, 1, 1, 1, -1, -1, 1, -1, 1
};

static const signed char network_bias[4] = {
    -1, -1, -1, -1
};

void network(const signed char *x, signed char *y)
{
    signed char a[11];
    int i, j, arc;
    for (i = 0; i < 6; i++)
        a[i] = x[i] > 0 ? 1 : -1;
    a[6] = 1; /* thresholds */
    for (j = 0; j < 4; j++) {
        int sum = network_bias[j];
        for (arc = network_start[j]; arc < network_start[j + 1]; arc++)
            sum += network_weight[arc] * a[network_source[arc]];
        a[7 + j] = sum > 0 ? 1 : -1; /* a tie is -1 */
    }
    for (i = 0; i < 2; i++)
        y[i] = a[9 + i];
}
