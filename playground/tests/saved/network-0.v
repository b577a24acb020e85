// A network of -1 and +1 trained in the qubonn playground; bit 1 is +1.
module network(input wire [24:0] x, output wire [1:0] y);
  wire [4:0] c25 =
    1'b1 + x[0] + x[1] + x[2] + !x[3] + !x[4] + !x[5] + !x[6] + !x[7] + !x[8] + x[9] + x[10] + x[11] + x[12] + x[13] + x[14] + x[15] + x[16] + x[17] + x[18] + x[19] + !x[20] + x[21] + x[22] + !x[23] + !x[24];
  wire n25 = c25 >= 5'd14;
  wire [4:0] c26 =
    1'b0 + x[0] + x[1] + !x[2] + x[3] + x[4] + x[5] + !x[6] + !x[7] + x[8] + !x[9] + x[10] + !x[11] + !x[12] + !x[13] + !x[14] + !x[15] + !x[16] + !x[17] + !x[18] + !x[19] + x[20] + x[21] + x[22] + !x[23] + x[24];
  wire n26 = c26 >= 5'd14;
  wire [4:0] c27 =
    1'b0 + x[0] + !x[1] + !x[2] + x[3] + x[4] + x[5] + !x[6] + x[7] + x[8] + x[9] + x[10] + x[11] + x[12] + !x[13] + x[14] + !x[15] + x[16] + x[17] + x[18] + x[19] + !x[20] + !x[21] + !x[22] + !x[23] + x[24];
  wire n27 = c27 >= 5'd14;
  wire [2:0] c28 =
    1'b1 + n25 + !n26 + n27;
  wire n28 = c28 >= 3'd3;
  wire [2:0] c29 =
    1'b1 + n25 + !n26 + n27;
  wire n29 = c29 >= 3'd3;
  assign y = {n29, n28};
endmodule
