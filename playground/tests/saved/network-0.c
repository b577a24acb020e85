/* A network of -1 and +1 trained in the qubonn playground: 1x5x5 -> 3 -> 2.
   x: 25 inputs, y: 2 outputs; above zero is +1, the rest is -1. */

static const unsigned short network_start[6] = {
    0, 25, 50, 75, 78, 81
};

static const unsigned short network_source[81] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    20, 21, 22, 23, 24, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 25, 26,
    27
};

static const signed char network_weight[81] = {
    1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    -1, 1, 1, -1, -1, 1, 1, -1, 1, 1, 1, -1, -1, 1, -1, 1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, 1, 1, 1, -1, 1, 1, -1, -1, 1, 1, 1, -1, 1, 1, 1,
    1, 1, 1, -1, 1, -1, 1, 1, 1, 1, -1, -1, -1, -1, 1, 1, -1, 1, 1, -1,
    1
};

static const signed char network_bias[5] = {
    1, -1, -1, 1, 1
};

void network(const signed char *x, signed char *y)
{
    signed char a[30];
    int i, j, arc;
    for (i = 0; i < 25; i++)
        a[i] = x[i] > 0 ? 1 : -1;
    for (j = 0; j < 5; j++) {
        int sum = network_bias[j];
        for (arc = network_start[j]; arc < network_start[j + 1]; arc++)
            sum += network_weight[arc] * a[network_source[arc]];
        a[25 + j] = sum > 0 ? 1 : -1; /* a tie is -1 */
    }
    for (i = 0; i < 2; i++)
        y[i] = a[28 + i];
}
