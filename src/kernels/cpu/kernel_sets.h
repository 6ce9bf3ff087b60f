// What each kernel file puts into the table of its instruction set. Only dispatch.cpp calls these.
//
// The files named avx2*, avxvnni*, avx512* and neon* are compiled for those instruction sets. They must leave nothing behind
// that the linker could pick for plain code, so they instantiate no standard templates and call no inline
// functions of shared headers: everything of theirs lives in anonymous namespaces, and these functions are
// the only way in.
#pragma once

#include "kernels/ops.h"

namespace powerinfer::kernels {

namespace scalar {
void add_grouped(Ops& ops);
void add_matrix(Ops& ops);
void add_vector(Ops& ops);
void add_attention(Ops& ops);
}  // namespace scalar

namespace avx2 {
void add_grouped(Ops& ops);
void add_dot_float(Ops& ops);
void add_dot_q8_32(Ops& ops);
void add_dot_q8_256(Ops& ops);
void add_axpy(Ops& ops);
void add_vector(Ops& ops);
void add_attention(Ops& ops);
}  // namespace avx2

namespace avxvnni {
void add_dot_q8_32(Ops& ops);
void add_dot_q8_256(Ops& ops);
}  // namespace avxvnni

namespace avx512 {
void add_dot_float(Ops& ops);
void add_dot_q8_32(Ops& ops);
void add_dot_q8_256(Ops& ops);
void add_axpy(Ops& ops);
void add_vector(Ops& ops);
void add_attention(Ops& ops);
}  // namespace avx512

namespace neon {
void add_grouped(Ops& ops);
void add_dot_float(Ops& ops);
void add_dot_q8_32(Ops& ops);
void add_dot_q8_256(Ops& ops);
void add_axpy(Ops& ops);
void add_vector(Ops& ops);
void add_attention(Ops& ops);
}  // namespace neon

namespace neon_i8mm {
void add_dot_q8_32(Ops& ops);
void add_dot_q8_256(Ops& ops);
}  // namespace neon_i8mm

}  // namespace powerinfer::kernels
