// The sweeps of samplers/_kernels.py for one replica in each work-item: the same integers, draws and
// thresholds, so the same states, bit for bit. FIELD is short or int. Matrices are variables x replicas,
// so that neighbouring work-items read neighbouring numbers.
#pragma OPENCL FP_CONTRACT OFF

float threshold_of(uint draw, float scale)
{
    uint bits = as_uint(convert_float((int)((draw >> 1) | 1)));
    float m = as_float((bits & 0x007FFFFFu) | 0x3F800000u);
    float bend = fma(m, C5 * scale, C4 * scale);
    bend = fma(m, bend, C3 * scale);
    bend = fma(m, bend, C2 * scale);
    bend = fma(m, bend, C1 * scale);
    bend = fma(m, bend, C0 * scale);
    return fma(convert_float((int)bits), -1.1920928955078125e-07f * scale, bend);
}

void add_to_neighbours(__global FIELD *fields, uint variable, int move, uint replica, uint count,
                       __global const long *starts, __global const int *columns,
                       __global const FIELD *couplings)
{
    for (long entry = starts[variable]; entry < starts[variable + 1]; entry++)
        fields[(ulong)columns[entry] * count + replica] += (FIELD)(move * couplings[entry]);
}

__kernel void anneal(__global uchar *states, __global FIELD *fields, __global long *energies,
                     __global uint *generators, __global const uint *order,
                     __global const FIELD *linear, __global const long *starts,
                     __global const int *columns, __global const FIELD *couplings,
                     __global const float *scales, uint sweeps, uint variables, uint lanes)
{
    uint replica = get_global_id(0), count = get_global_size(0);
    __global uint *words = generators + (replica / lanes) * 4 * lanes + replica % lanes;
    uint a = words[0], b = words[lanes], c = words[2 * lanes], d = words[3 * lanes];
    for (uint i = 0; i < variables; i++)
        fields[(ulong)i * count + replica] = linear[i];
    for (uint i = 0; i < variables; i++)
        if (states[(ulong)i * count + replica])
            add_to_neighbours(fields, i, 1, replica, count, starts, columns, couplings);
    for (uint sweep = 0; sweep < sweeps; sweep++) {
        float scale = scales[sweep];
        for (uint place = 0; place < variables; place++) {
            uint i = order[place];
            int move = states[(ulong)i * count + replica] ? -1 : 1;
            uint draw = a + d, shifted = b << 9;
            c ^= a; d ^= b; b ^= c; a ^= d; c ^= shifted;
            d = (d << 11) | (d >> 21);
            int change = move * fields[(ulong)i * count + replica];
            if (convert_float(change) <= threshold_of(draw, scale)) {
                states[(ulong)i * count + replica] ^= 1;
                add_to_neighbours(fields, i, move, replica, count, starts, columns, couplings);
            }
        }
    }
    words[0] = a; words[lanes] = b; words[2 * lanes] = c; words[3 * lanes] = d;
    long twice = 0;
    for (uint i = 0; i < variables; i++)
        if (states[(ulong)i * count + replica])
            twice += (long)fields[(ulong)i * count + replica] + (long)linear[i];
    energies[replica] = twice / 2;
}
