// The worked NumPy examples, recomputed by the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "engine/check/case_file.hpp"
#include "engine/io/npz.hpp"
#include "engine/reference/maths.hpp"

namespace attn::reference {
namespace {

using check::CaseFile;

const std::filesystem::path kGoldenFolder = std::filesystem::path(ATTN_TEST_DATA) / "golden";
constexpr check::Tolerance kNumpy{1e-12, 1e-12};

Permissions allow_all(std::int64_t positions) {
    return {1, 1, positions, positions, std::vector<std::uint8_t>(static_cast<std::size_t>(positions * positions), 1), {}};
}

void expect_ok(CaseFile& file) {
    const check::Report report = file.finish("notebook");
    ASSERT_FALSE(report.tensors.empty());
    for (const check::TensorResult& tensor : report.tensors) EXPECT_TRUE(tensor.ok) << tensor.name << " " << tensor.max_abs;
}

/// One head of a notebook: x [T,C] and three matrices [C,D].
void compare_notebook_head(CaseFile& file, const std::string& prefix, const Tensor<double>& x, std::int64_t head_size,
                           Tensor<double>* context) {
    const std::int64_t length = x.shape()[1].size, width = x.shape()[2].size;
    const auto project = [&](const char* weight, Axis position) {
        const auto matrix = file.numbers<double>(prefix + weight, {{Axis::C, width}, {Axis::D, head_size}});
        return split_heads(linear(x, LinearMap{MatrixView::of(matrix.data(), width, head_size), nullptr}, {Axis::N, head_size}),
                           {Axis::H, 1}, position);
    };
    const Tensor<double> q = project("w_q", Axis::T), k = project("w_k", Axis::S), v = project("w_v", Axis::S);
    const Permissions everyone = allow_all(length);
    const auto compare = [&](const char* name, const Tensor<double>& value) {
        file.compare(prefix + name, Shape{value.shape()[2], value.shape()[3]}, value.values());
    };
    compare("q", q), compare("k", k), compare("v", v);
    Tensor<double> map = attention_scores(q, k);
    compare("scores", map);
    for (double& score : map.values()) score /= std::sqrt(static_cast<double>(head_size));
    compare("scaled", map);
    map = attention_weights(map, everyone, 1);
    compare("weights", map);
    *context = weighted_values(map, v, everyone);
    compare("context", *context);
}

TEST(ReferenceNotebook, AgreesWithNumPy) {
    Tensor<double> context;
    CaseFile single(read_npz(kGoldenFolder / "notebook_single_head.npz"), kNumpy);
    const auto x_of = [](const CaseFile& file, std::int64_t width) {
        Tensor<double> x({{Axis::B, 1}, {Axis::T, 4}, {Axis::C, width}});
        const auto values = file.numbers<double>("x", {{Axis::T, 4}, {Axis::C, width}});
        std::copy(values.begin(), values.end(), x.data());
        return x;
    };
    compare_notebook_head(single, "", x_of(single, 6), 6, &context);
    expect_ok(single);

    CaseFile three(read_npz(kGoldenFolder / "notebook_multi_head.npz"), kNumpy);
    Tensor<double> concat({{Axis::B, 1}, {Axis::T, 4}, {Axis::C, 12}});
    for (std::int64_t head = 0; head < 3; ++head) {
        compare_notebook_head(three, "head" + std::to_string(head) + ".", x_of(three, 12), 4, &context);
        for (std::int64_t t = 0; t < 4; ++t)
            for (std::int64_t d = 0; d < 4; ++d) concat(0, t, head * 4 + d) = context(0, 0, t, d);
    }
    const auto flat = [](const Tensor<double>& value) { return Shape{value.shape()[1], value.shape()[2]}; };
    three.compare<double>("concat", flat(concat), concat.values());
    const auto w_o = three.numbers<double>("w_o", {{Axis::N, 12}, {Axis::C, 12}});
    const Tensor<double> output = linear(concat, LinearMap{MatrixView::of(w_o.data(), 12, 12), nullptr}, {Axis::C, 12});
    three.compare<double>("output", flat(output), output.values());
    expect_ok(three);
}

}  // namespace
}  // namespace attn::reference
