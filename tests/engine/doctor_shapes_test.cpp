/// What the doctor makes of shapes that cannot be, and of names that modules have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/doctor/doctor.hpp"
#include "engine/io/file_error.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

/// Weights of this shape whose rows sum to 1, beside the q, k, v and context of an example.
ArrayFile with_weights(const Example& example, const Shape& shape) {
    ArrayFile file = example.file();
    keep_only(file, {"q", "k", "v", "context"});
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    file.arrays.push_back(
        make_array<double>("weights", shape, Values(static_cast<std::size_t>(count), 1.0 / static_cast<double>(shape.back()))));
    return file;
}

/// "" if the file was judged.
std::string refusal(const ArrayFile& file) {
    try {
        examine(file);
    } catch (const FileError& error) {
        return error.what();
    }
    return "";
}

TEST(DoctorShapes, MapsThatFitNoReadingAreRefusedByName) {
    const std::vector<std::int64_t> sizes{1, 2, 3, 4, 5, 7, 25};
    for (const Sizes& n : {Sizes{1, 2, 5, 5, 4}, Sizes{1, 2, 3, 5, 4}, Sizes{2, 3, 5, 5, 4}}) {
        const Example example(n, 1, 0.5, everywhere);
        const auto may_be = [&](const Shape& shape) {
            // With positions before heads, queries and keys would be as many as these heads.
            const bool either = n.t == n.s;
            if (shape.size() == 4) return shape == Shape{n.b, n.h, n.t, n.s} || (either && shape == Shape{n.b, n.t, n.h, n.h});
            if (n.b == 1 && (shape == Shape{n.h, n.t, n.s} || (either && shape == Shape{n.t, n.h, n.h}))) return true;
            const Shape mean = shape.size() == 3 ? Shape{shape[1], shape[2]} : shape;  // over the heads
            return (shape.size() == 3 ? shape[0] == n.b : n.b == 1) && (mean == Shape{n.t, n.s} || (either && mean == Shape{n.h, n.h}));
        };
        for (const std::int64_t a : sizes)
            for (const std::int64_t b : sizes)
                for (const std::int64_t c : sizes)
                    for (const Shape& shape : {Shape{b, c}, Shape{a, b, c}, Shape{n.b, a, b, c}, Shape{a, n.h, b, c}}) {
                        const std::string refused = refusal(with_weights(example, shape));
                        if (may_be(shape)) EXPECT_EQ(refused, "");
                        else EXPECT_THAT(refused, HasSubstr("tensor \"weights\": has shape ")) << testing::PrintToString(shape);
                    }
    }
}

TEST(DoctorShapes, TransposedWeightsOfOtherLengthsAreBlamedThemselves) {
    const std::string refused = refusal(with_weights(Example({1, 2, 3, 5, 4}, 1, 0.5, everywhere), {1, 2, 5, 3}));
    EXPECT_THAT(refused, HasSubstr("tensor \"weights\": has shape [1, 2, 5, 3]; expected [B=1, H=2, T=3, S=5], as q [1, 2, 3, 4] and k "
                                   "[1, 2, 5, 4] give it: it may be transposed"));
}

/// [B,H,T,D] as a layer puts it out before and after the heads are split.
ArrayFile as_hooks_name(const Example& example) {
    ArrayFile file = example.file();
    keep_only(file, {"weights"});
    file.arrays.front().name = "h.0.attn.weights";
    const auto [b, h, t, s, d] = example.n;
    Values packed(example.q.size()), output;
    for (std::int64_t i = 0; i < std::ssize(packed); ++i) {
        const std::int64_t at = i / d / h % t, head = i / d % h, batch = i / d / h / t;
        packed[static_cast<std::size_t>(i)] = example.q[static_cast<std::size_t>(((batch * h + head) * t + at) * d + i % d)];
    }
    for (std::size_t i = 0; i < packed.size(); ++i) output.push_back(std::sin(static_cast<double>(i)));
    Values doubled = packed;
    for (double& x : doubled) x *= 2;
    file.arrays.push_back(make_array<double>("h.0.attn.q_proj", {b, t, h * d}, doubled));
    file.arrays.push_back(make_array<double>("h.0.attn.q_norm", {b, t, h, d}, packed));
    file.arrays.push_back(make_array<double>("h.0.attn.k", {b, h, s, d}, example.k));
    file.arrays.push_back(make_array<double>("h.0.attn.v", {b, h, s, d}, example.v));
    file.arrays.push_back(make_array<double>("h.0.attn.context", {b, h, t, d}, example.context));
    file.arrays.push_back(make_array<double>("h.0.attn", {b, t, h * d}, output));
    return file;
}

TEST(DoctorShapes, ReadsTensorsAsHooksOnModulesNameThem) {
    const Example example({2, 3, 5, 5, 4}, 3, 0.5, causal);
    const Diagnosis right = examine(as_hooks_name(example));
    EXPECT_EQ(right.verdict, Verdict::Correct) << right.explanation;
    EXPECT_THAT(right.explanation, HasSubstr("weights and context follow"));
    const Diagnosis wrong = examine(as_hooks_name(Example(example, 1, causal)));
    EXPECT_EQ(wrong.bug, Bug::NoScale) << wrong.explanation;
}

TEST(DoctorShapes, AMapNamedAsItsModuleIsStillJudged) {
    const Example example({1, 1, 5, 5, 4}, 3, 0.5, causal);
    ArrayFile file = example.file();
    keep_only(file, {"q", "k", "weights"});
    file.arrays.back() = make_array<double>("attn", {1, 1, 5, 5}, example.weights);
    EXPECT_EQ(examine(file).verdict, Verdict::Correct);
    change(file, "attn", 3, 0.5);
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
}

}  // namespace
}  // namespace attn::doctor
