#include "tests/gl/demo_ui.hpp"

#include <imgui.h>

#include <cmath>
#include <limits>
#include <vector>

namespace attn::app {

namespace {

struct Sample {
    std::int64_t rows = 12, cols = 12;
    std::vector<float> values;
    std::vector<std::uint8_t> keep;

    explicit Sample(bool probabilities) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < cols; ++j) {
                const auto wave = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1.3 * static_cast<double>(j * j)));
                values.push_back(probabilities ? wave * wave : 3 * wave);
                keep.push_back(!probabilities || j <= i ? 1 : 0);
            }
        if (probabilities) return;
        values[3] = std::numeric_limits<float>::quiet_NaN();
        values[17] = std::numeric_limits<float>::infinity();
        values[30] = -std::numeric_limits<float>::infinity();
    }
    HeatmapData data(std::uint64_t key) const { return {key, values.data(), rows, cols, cols, keep.data()}; }
};

void draw_fonts(const Frame& frame) {
    const Fonts& f = frame.theme.fonts;
    ImFont* const fonts[] = {f.small,   f.caption,   f.label,      f.body, f.strong,    f.title,
                             f.heading, f.mono_tiny, f.mono_small, f.mono, f.mono_body, f.formula};
    for (ImFont* font : fonts) {
        ImGui::PushFont(font);
        ImGui::TextUnformatted("scores = Q Kᵀ ÷ √d₈ − ∑ xᵢ yⱼ kₖ xₜ Wₒ ∇ ∈ ⊤ ⊙ ℝ × · → ∞ “naïve” Ωλ");
        ImGui::PopFont();
    }
}

}  // namespace

void draw_demo(Frame& frame) {
    const Sample weights(true), scores(false);
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({frame.width, frame.height});
    ImGui::Begin("demo", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    draw_fonts(frame);
    ImGui::Button("button");
    ImGui::SameLine();
    float slider = 0.3F;
    ImGui::SetNextItemWidth(200);
    ImGui::SliderFloat("slider", &slider, 0, 1);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float side = frame.theme.px(190), gap = frame.theme.px(16);
    ImVec2 at = ImGui::GetCursorScreenPos();
    const HeatmapStyle styles[] = {{ColorMap::Sequential, 0, 1}, {ColorMap::Diverging, -3, 3}, {ColorMap::Viridis, 0, 1},
                                   {ColorMap::Cividis, 0, 1},    {ColorMap::Grey, 0, 1},       {ColorMap::Diverging, -3, 3, true, true}};
    for (const HeatmapStyle& style : styles) {
        const bool is_signed = style.map == ColorMap::Diverging;
        HeatmapRequest request{(is_signed ? scores : weights).data(is_signed ? 2 : 1), style};
        request.grid = style.map == ColorMap::Grey;
        const ImVec2 end{at.x + side, at.y + side};
        list.AddRectFilled({at.x - 4, at.y - 4}, {end.x + 4, end.y + 4}, frame.theme.colors.pane);
        frame.canvas.heatmap(list, at, end, request);
        list.AddRect({at.x + side / 4, at.y}, {at.x + side / 3, end.y}, frame.theme.colors.chosen, 0, 0, 2);
        for (int y = 0; y < static_cast<int>(side); ++y) {
            const float place = 1 - static_cast<float>(y) / side, value = style.lo + (style.hi - style.lo) * place;
            HeatmapStyle own = style;
            own.per_row = false;
            list.AddRectFilled({at.x, end.y + 8 + 0.2F * static_cast<float>(y)}, {at.x + 40, end.y + 9 + 0.2F * static_cast<float>(y)},
                               frame.canvas.color(own, value));
        }
        at.x = end.x + gap;
    }
    ImGui::End();
}

}  // namespace attn::app
