/// Bars of numbers: none is missing beside that of a smaller number.

#include "app/widgets/value_bar.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "app/panels/maps/equation.hpp"
#include "engine/plan/name_beside.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

class ValueBar : public ImGuiFixture {
protected:
    /// From where to where the bar covers the centres of pixels; equal for none.
    std::pair<float, float> covered(double share, float base, float whole, float rounding = 2) {
        std::pair<float, float> pixels{0, 0};
        frame([&] {
            ImDrawList& list = *ImGui::GetWindowDrawList();
            const int before = list.VtxBuffer.Size;
            value_bar(list, {base, 4.3F}, {whole, 15.1F}, share, 0xFFFFFFFFU, rounding);
            float low = std::numeric_limits<float>::max(), high = -low;
            for (int i = before; i < list.VtxBuffer.Size; ++i) {
                if ((list.VtxBuffer[i].col >> IM_COL32_A_SHIFT) == 0) continue;  // the soft edge of a rounded corner
                low = std::min(low, list.VtxBuffer[i].pos.x);
                high = std::max(high, list.VtxBuffer[i].pos.x);
            }
            if (list.VtxBuffer.Size > before) pixels = {std::ceil(low - 0.5F), std::ceil(high - 0.5F)};
        });
        return pixels;
    }
};

TEST_F(ValueBar, OfASmallerNumberIsNeverLongerAndNoneIsMissing) {
    for (const float base : {10.F, 10.3F, 10.5F, 10.77F}) {
        float before = 0;
        for (const double share : {7.2e-6, 8.5e-6, 2.0e-5, 1.4e-4, 1.1e-3, 5.0e-3, 0.02, 0.1, 0.5, 1.0}) {
            const auto [from, to] = covered(share, base, base + 96);
            EXPECT_GE(to - from, 1) << share << " at " << base;
            EXPECT_GE(to - from, before) << share << " at " << base;
            before = to - from;
        }
        EXPECT_NEAR(before, 96, 2);
    }
}

TEST_F(ValueBar, GoesTheOtherWayForNegativeNumbers) {
    const auto [from, to] = covered(-0.5, 50, 90);
    EXPECT_EQ(to, 50);
    EXPECT_NEAR(from, 30, 1);
    const auto [left, right] = covered(0.25, 90, 50);  // from the right
    EXPECT_EQ(right, 90);
    EXPECT_NEAR(left, 80, 1);
}

TEST_F(ValueBar, IsNotDrawnForNothing) {
    for (const double share : {0.0, -0.0, std::nan("")}) {
        const auto [from, to] = covered(share, 10, 100);
        EXPECT_EQ(from, to);
    }
}

class NamesInEquations : public InterfaceFixture {
protected:
    std::vector<std::string> symbols(const StageId& id) {
        std::vector<std::string> found;
        with_context([&](PanelContext& context) {
            const Equation equation = equation_of(context.numbers(), context.shown(), id, 0, 0);
            found.push_back(equation.result.symbol);
            for (const Matrix& operand : equation.operands) found.push_back(operand.symbol);
        });
        return found;
    }
};

TEST_F(NamesInEquations, SayTheLayerWhereItIsAnother) {
    open_example("gpt-tiny");
    EXPECT_EQ(symbols({Stage::Residual1, 1}), (std::vector<std::string>{"residual_1", "L0 residual_2", "attention_out"}));
    EXPECT_EQ(symbols({Stage::Residual2, 1}), (std::vector<std::string>{"residual_2", "residual_1", "ffn_out"}));
    EXPECT_EQ(symbols({Stage::Norm1, 2})[1], "L1 residual_2");
    EXPECT_EQ(symbols({Stage::FinalNorm, -1})[1], "L3 residual_2");
}

TEST(NameBeside, SaysTheStackWhereItIsAnother) {
    EXPECT_EQ(name_beside({Stage::FinalNorm, -1, Stack::Encoder}, {Stage::K, 0, Stack::Decoder, kCrossAttention}), "encoder final_norm");
    EXPECT_EQ(name_beside({Stage::Residual2, 1, Stack::Encoder}, {Stage::K, 1, Stack::Decoder, kCrossAttention}), "encoder L1 residual_2");
    EXPECT_EQ(name_beside({Stage::Residual2, 1, Stack::Decoder}, {Stage::Residual1, 1, Stack::Decoder}), "residual_2");
}

}  // namespace
}  // namespace attn::app::test
