#include "learn/low_rank.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <random>

namespace powerinfer::learn {
namespace {

using Matrix = Eigen::MatrixXd;

constexpr int kPasses = 4;
constexpr int64_t kSpare = 32;  // vectors beyond the wanted rank: the last ones converge slowest

Matrix to_double(const Floats& a) {
    Matrix m(a.rows, a.columns);
    for (int64_t r = 0; r < a.rows; ++r) {
        for (int64_t c = 0; c < a.columns; ++c) m(r, c) = static_cast<double>(a.row(r)[c]);
    }
    return m;
}

Floats to_float(const Matrix& m) {
    Floats a(m.rows(), m.cols());
    for (int64_t r = 0; r < a.rows; ++r) {
        for (int64_t c = 0; c < a.columns; ++c) a.row(r)[c] = static_cast<float>(m(r, c));
    }
    return a;
}

/// Orthonormal rows that span what the rows of `y` span, each turned away from those before it: so the strongest
/// directions stay in front, and the weak ones are not drowned by them in the next pass. Reflections are exact to rounding
/// however unequal the rows are.
Floats orthonormal(const Floats& y) {
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::MatrixXf columns = Eigen::Map<const RowMajor>(y.values.data(), y.rows, y.columns).transpose();
    const Eigen::HouseholderQR<Eigen::MatrixXf> qr(columns);
    const Eigen::MatrixXf q = qr.householderQ() * Eigen::MatrixXf::Identity(y.columns, y.rows);
    Floats result(y.rows, y.columns);
    Eigen::Map<RowMajor>(result.values.data(), y.rows, y.columns) = q.transpose();
    return result;
}

}  // namespace

Floats covariance(const Floats& x, Multiplier& multiply) {
    std::vector<double> mean(static_cast<size_t>(x.columns));
    for (int64_t t = 0; t < x.rows; ++t) {
        for (int64_t i = 0; i < x.columns; ++i) mean[static_cast<size_t>(i)] += static_cast<double>(x.row(t)[i]);
    }
    Floats centred = x;
    const auto n = static_cast<double>(std::max<int64_t>(x.rows, 1));
    for (int64_t t = 0; t < x.rows; ++t) {
        for (int64_t i = 0; i < x.columns; ++i) centred.row(t)[i] -= static_cast<float>(mean[static_cast<size_t>(i)] / n);
    }
    const Floats columns = multiply.transpose(centred);
    Floats c;
    multiply.rows_by_rows(columns, columns, c);
    double trace = 0;
    for (float& v : c.values) v /= static_cast<float>(n);
    for (int64_t i = 0; i < c.rows; ++i) trace += static_cast<double>(c.row(i)[i]);
    for (int64_t i = 0; i < c.rows; ++i) c.row(i)[i] += static_cast<float>(0.01 * trace / static_cast<double>(c.rows));
    return c;
}

LowRank low_rank(const Floats& gate, const Floats& c, int64_t rank, Multiplier& multiply) {
    const int64_t n_embd = gate.columns;
    rank = std::min({rank, n_embd, gate.rows});
    const int64_t width = std::min({rank + kSpare, n_embd, gate.rows});
    const Floats by_input = multiply.transpose(gate);  // [n_embd][n_ff]
    Floats z(width, n_embd), zc, y;                    // rows: vectors of the input's space, of the neurons'
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& v : z.values) v = normal(random);
    multiply.rows_by_rows(z, gate, y);
    for (int pass = 0; pass < kPasses; ++pass) {
        y = orthonormal(y);
        multiply.rows_by_rows(y, by_input, z);
        multiply.rows_by_rows(z, c, zc);
        multiply.rows_by_rows(zc, gate, y);
    }
    y = orthonormal(y);
    multiply.rows_by_rows(y, by_input, z);
    multiply.rows_by_rows(z, c, zc);
    Floats inner;
    multiply.rows_by_rows(z, zc, inner);
    const Matrix m = to_double(inner);
    const Eigen::SelfAdjointEigenSolver<Matrix> solver((m + m.transpose()) / 2);
    const int64_t n = m.rows();
    rank = std::min(rank, n);
    // What is rounding alone is no factor.
    const double least = 1e-10 * std::max(solver.eigenvalues()(n - 1), 0.0);
    while (rank > 1 && solver.eigenvalues()(n - rank) <= least) --rank;

    LowRank result;
    Matrix turn = solver.eigenvectors().rightCols(rank).rowwise().reverse().transpose();
    for (int64_t i = 0; i < rank; ++i) {
        result.singular.push_back(std::sqrt(std::max(solver.eigenvalues()(n - 1 - i), 0.0)));
        Eigen::Index largest = 0;  // a sign that does not depend on the solver's mood
        turn.row(i).cwiseAbs().maxCoeff(&largest);
        if (turn(i, largest) < 0) turn.row(i) *= -1;
    }
    const Floats turning = to_float(turn);
    multiply.rows_by_rows(turning, multiply.transpose(z), result.first);
    multiply.rows_by_rows(multiply.transpose(y), turning, result.second);
    // The trace of gate . C . gate^T.
    Floats seen;
    multiply.rows_by_rows(gate, c, seen);
    for (size_t i = 0; i < seen.values.size(); ++i)
        result.total += static_cast<double>(seen.values[i]) * static_cast<double>(gate.values[i]);
    return result;
}

}  // namespace powerinfer::learn
