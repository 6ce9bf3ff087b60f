#include "learn/low_rank.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>

#include <cmath>
#include <random>

namespace powerinfer::learn {
namespace {

Floats random_matrix(int64_t rows, int64_t columns, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats a(rows, columns);
    for (float& v : a.values) v = normal(random);
    return a;
}

Floats identity(int64_t n) {
    Floats a(n, n);
    for (int64_t i = 0; i < n; ++i) a.row(i)[i] = 1;
    return a;
}

Eigen::MatrixXd to_eigen(const Floats& a) {
    Eigen::MatrixXd m(a.rows, a.columns);
    for (int64_t r = 0; r < a.rows; ++r) {
        for (int64_t c = 0; c < a.columns; ++c) m(r, c) = static_cast<double>(a.row(r)[c]);
    }
    return m;
}

TEST(Multiplier, EqualsASlowProduct) {
    Multiplier multiply(2);
    const Floats a = random_matrix(70, 33, 1), b = random_matrix(300, 33, 2);
    Floats out;
    multiply.rows_by_rows(a, b, out);
    EXPECT_LT((to_eigen(out) - to_eigen(a) * to_eigen(b).transpose()).cwiseAbs().maxCoeff(), 1e-4);
    EXPECT_EQ(to_eigen(multiply.transpose(a)), Eigen::MatrixXd(to_eigen(a).transpose()));
}

TEST(Covariance, IsThatOfTheVectorsWithALittleMoreOnTheDiagonal) {
    Multiplier multiply(2);
    Floats x = random_matrix(500, 6, 3);
    for (int64_t t = 0; t < x.rows; ++t) x.row(t)[2] += 5;  // a mean, which does not count
    const Eigen::MatrixXd m = to_eigen(x);
    const Eigen::MatrixXd centred = m.rowwise() - m.colwise().mean();
    Eigen::MatrixXd expected = centred.transpose() * centred / 500;
    expected.diagonal().array() += 0.01 * expected.trace() / 6;
    EXPECT_LT((to_eigen(covariance(x, multiply)) - expected).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(LowRank, AGateOfThatRankIsRecovered) {
    Multiplier multiply(2);
    const Floats a = random_matrix(96, 5, 4), b = random_matrix(40, 5, 5);
    Floats gate;
    multiply.rows_by_rows(a, b, gate);
    const LowRank f = low_rank(gate, covariance(random_matrix(300, 40, 6), multiply), 5, multiply);
    ASSERT_EQ(f.first.rows, 5);
    EXPECT_LT((to_eigen(f.second) * to_eigen(f.first) - to_eigen(gate)).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(LowRank, TheErrorIsTheTailOfTheSingularValues) {
    Multiplier multiply(2);
    const Floats gate = random_matrix(120, 48, 7);
    Floats x = random_matrix(400, 48, 8);
    for (int64_t t = 0; t < x.rows; ++t) {
        for (int64_t i = 0; i < x.columns; ++i) x.row(t)[i] *= 3.0f / static_cast<float>(1 + i);  // some directions matter more
    }
    const Floats c = covariance(x, multiply);
    const Eigen::MatrixXd root = to_eigen(c).llt().matrixL();
    const Eigen::VectorXd exact = Eigen::JacobiSVD<Eigen::MatrixXd>(to_eigen(gate) * root).singularValues();
    const LowRank f = low_rank(gate, c, 10, multiply);
    for (int64_t i = 0; i < 10; ++i) EXPECT_NEAR(f.singular[static_cast<size_t>(i)], exact(i), 2e-3 * exact(0)) << i;
    EXPECT_NEAR(f.total, exact.squaredNorm(), 1e-3 * exact.squaredNorm());
    const double error = ((to_eigen(gate) - to_eigen(f.second) * to_eigen(f.first)) * root).squaredNorm();
    EXPECT_NEAR(error, exact.tail(38).squaredNorm(), 1e-2 * exact.tail(38).squaredNorm());
    // Blind to the vectors, the same rank does worse on them.
    const LowRank blind = low_rank(gate, identity(48), 10, multiply);
    EXPECT_GT(((to_eigen(gate) - to_eigen(blind.second) * to_eigen(blind.first)) * root).squaredNorm(), 1.5 * error);
}

// Models have a few directions that are far stronger than all others, which must not drown them.
TEST(LowRank, WeakDirectionsBesideAStrongOneAreFound) {
    Multiplier multiply(2);
    const Floats gate = random_matrix(200, 64, 9);
    Floats c(64, 64);
    for (int64_t i = 0; i < 64; ++i) c.row(i)[i] = i == 0 ? 1e4f : 1.0f / static_cast<float>((1 + i) * (1 + i));
    const Eigen::MatrixXd root = to_eigen(c).llt().matrixL();
    const Eigen::VectorXd exact = Eigen::JacobiSVD<Eigen::MatrixXd>(to_eigen(gate) * root).singularValues();
    const LowRank f = low_rank(gate, c, 16, multiply);
    ASSERT_EQ(f.singular.size(), 16u);
    for (int64_t i = 0; i < 16; ++i) EXPECT_NEAR(f.singular[static_cast<size_t>(i)], exact(i), 0.05 * exact(i)) << i;
}

}  // namespace
}  // namespace powerinfer::learn
