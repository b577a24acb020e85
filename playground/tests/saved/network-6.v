// A network of -1 and +1 trained in the qubonn playground; bit 1 is +1.
module network(input wire [4:0] x, output wire [0:0] y);
  wire [2:0] c6 =
    1'b0 + x[0] + x[1] + x[2] + !x[3] + !x[4];
  wire n6 = c6 >= 3'd4;
  wire [2:0] c7 =
    1'b0 + !x[0] + !x[1] + !x[2] + !x[3] + x[4];
  wire n7 = c7 >= 3'd4;
  wire [3:0] c8 =
    1'b0 + x[0] + x[0] + x[1] + x[1] + x[2] + x[2] + x[3] + x[3] + x[4] + x[4] + !n6 + n6 + n7 + !n7;
  wire n8 = c8 >= 4'd8;
  wire [3:0] c9 =
    1'b0 + !x[0] + x[0] + x[1] + !x[1] + x[2] + x[2] + x[3] + !x[3] + !x[4] + x[4] + !n6 + n6 + !n7 + !n7;
  wire n9 = c9 >= 4'd8;
  wire [2:0] c10 =
    1'b1 + !n8 + !n9 + !1'b1;
  wire n10 = c10 >= 3'd3;
  assign y = {n10};
endmodule
