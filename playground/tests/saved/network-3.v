// A network of -1 and +1 trained in the qubonn playground; bit 1 is +1.
module network(input wire [5:0] x, output wire [1:0] y);
  wire [3:0] c7 =
    1'b0 + x[0] + x[0] + x[1] + !x[1] + !x[2] + !x[2] + !x[3] + !x[3] + !x[4] + x[4] + x[5] + x[5] + 1'b1 + 1'b1;
  wire n7 = c7 >= 4'd8;
  wire [3:0] c8 =
    1'b0 + x[0] + x[0] + x[1] + x[1] + x[2] + x[2] + !x[3] + x[3] + x[4] + !x[4] + !x[5] + x[5] + 1'b1 + !1'b1;
  wire n8 = c8 >= 4'd8;
  wire [2:0] c9 =
    1'b0 + n7 + n7 + n8 + !n8;
  wire n9 = c9 >= 3'd3;
  wire [2:0] c10 =
    1'b0 + !n7 + n7 + !n8 + n8;
  wire n10 = c10 >= 3'd3;
  assign y = {n10, n9};
endmodule
