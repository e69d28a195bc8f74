/// Measures a frame with 144 heatmaps at 1600 x 1000 pixels: with 256 x 256 numbers each, and with 1024 x 1024 held reduced, as for a long
/// text. If a file name is given, the first picture is written there.
///
/// Usage: heatmap_grid_bench [FRAMES [PICTURE]]

#include <fmt/core.h>
#include <glad/gl.h>
#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "app/platform/offscreen.hpp"
#include "engine/trace/reduced_map.hpp"

namespace {

using namespace attn::app;
using Clock = std::chrono::steady_clock;

constexpr int kHeads = 144, kAcross = 16;

double ms(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

attn::ReducedMap attention_like(int head, std::int64_t tokens, int level) {
    using namespace attn;
    Tensor<float> values({{Axis::B, 1}, {Axis::H, 1}, {Axis::T, tokens}, {Axis::S, tokens}});
    for (std::int64_t i = 0; i < tokens; ++i)
        for (std::int64_t j = 0; j <= i; ++j)
            values(0, 0, i, j) = static_cast<float>(std::exp(-std::abs(static_cast<double>(i - j - head)) / (1.0 + head)));
    const Mask mask = Mask::causal(tokens, tokens);
    MapReducer reducer({Stage::Weights, 0}, {0, tokens, 0, tokens, level}, 1);
    reducer.add(values, &mask, 0);
    return reducer.take();
}

void measure(int frames, std::int64_t tokens, int level, const char* file) {
    std::vector<attn::ReducedMap> heads;
    for (int head = 0; head < kHeads; ++head) heads.push_back(attention_like(head, tokens, level));

    std::vector<double> still, changing;
    Clock::time_point last;
    std::clock_t cpu_begin = 0, cpu_middle = 0;
    int drawn = 0;
    const auto ui = [&](Frame& frame) {
        glFinish();  // otherwise a software renderer would skip frames that nobody reads
        const bool new_numbers = drawn >= frames;
        if (drawn > 0) (new_numbers ? changing : still).push_back(ms(Clock::now() - last));
        last = Clock::now();
        if (drawn == 1) cpu_begin = std::clock();
        if (drawn == frames) cpu_middle = std::clock();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({frame.width, frame.height});
        ImGui::Begin("grid", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        const float cell = (frame.width - 32) / kAcross, side = cell - 6;
        for (int head = 0; head < kHeads; ++head) {
            const ImVec2 at{16 + cell * static_cast<float>(head % kAcross), 16 + cell * static_cast<float>(head / kAcross)};
            const std::uint64_t version = new_numbers ? static_cast<std::uint64_t>(drawn) : 0;
            const attn::ReducedMap& map = heads[static_cast<std::size_t>(head)];
            HeatmapData data{1 + static_cast<std::uint64_t>(head) + version * kHeads,
                             map.numbers(0),
                             tokens,
                             tokens,
                             map.region.block_cols(),
                             map.keep.data()};
            data.level = level;
            frame.canvas.heatmap(list, at, {at.x + side, at.y + side}, {data, {}});
            list.AddText({at.x + 2, at.y + side - 16}, frame.theme.colors.text, "L0 H0");
        }
        ImGui::End();
        ++drawn;
    };
    OffscreenOptions options;
    options.frames = 2 * frames;
    const Image image = render_offscreen(options, ui);
    if (file != nullptr) write_png(file, image);
    const auto cpu_ms = [frames](std::clock_t from, std::clock_t to) {
        return 1e3 * static_cast<double>(to - from) / CLOCKS_PER_SEC / frames;
    };
    const std::clock_t cpu_end = std::clock();
    const double first = still.front();
    std::sort(still.begin(), still.end());
    std::sort(changing.begin(), changing.end());
    const auto print = [](const char* what, const std::vector<double>& times, double cpu) {
        fmt::print("{}: least {:.1f} ms, median {:.1f} ms, {:.1f} ms of processor time\n", what, times[0], times[times.size() / 2], cpu);
    };
    fmt::print("{} maps of {} x {} numbers, level {}; first frame: {:.1f} ms\n", kHeads, tokens, tokens, level, first);
    print("the same numbers again", still, cpu_ms(cpu_begin, cpu_middle));
    print("new numbers every frame", changing, cpu_ms(cpu_middle, cpu_end));
}

}  // namespace

int main(int argc, char** argv) {
    const int frames = argc > 1 ? std::max(2, std::atoi(argv[1])) : 40;
    measure(frames, 256, 0, argc > 2 ? argv[2] : nullptr);
    measure(frames, 1024, attn::reduced_level(1024, 1024, kHeads, 16 << 20), nullptr);
    return 0;
}
