#include "engine/tensor/shape.hpp"

#include <gtest/gtest.h>

#include "engine/tensor/count_text.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {
namespace {

TEST(CountText, SeparatesThousands) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1000), "1,000");
    EXPECT_EQ(count_text(50257), "50,257");
    EXPECT_EQ(count_text(123456), "123,456");
    EXPECT_EQ(count_text(9'007'199'254'740'993), "9,007,199,254,740,993");
}

TEST(Shape, NamesItsAxes) {
    const Shape shape{{Axis::B, 2}, {Axis::H, 4}, {Axis::T, 12}, {Axis::S, 11}};
    EXPECT_EQ(shape.text(), "[B=2, H=4, T=12, S=11]");
    EXPECT_EQ(shape.count(), 2 * 4 * 12 * 11);
    EXPECT_EQ(shape.size_of(Axis::S), 11);
    EXPECT_FALSE(shape.has(Axis::C));
}

TEST(Shape, RefusesWhatCannotBe) {
    EXPECT_THROW((Shape{{Axis::B, -1}}), ShapeError);
    EXPECT_THROW((Shape{{Axis::B, std::int64_t{1} << 40}, {Axis::T, std::int64_t{1} << 40}}), ShapeError);
    EXPECT_THROW((Shape{{Axis::B, 1}, {Axis::B, 1}, {Axis::B, 1}, {Axis::B, 1}, {Axis::B, 1}}), ShapeError);
}

TEST(Tensor, IndexesRowMajor) {
    Tensor<float> tensor({{Axis::T, 3}, {Axis::S, 4}});
    tensor(2, 1) = 5;
    EXPECT_EQ(tensor.data()[2 * 4 + 1], 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
}

}  // namespace
}  // namespace attn
