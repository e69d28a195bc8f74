#pragma once
/// An OpenGL context without a visible window, and heatmaps rendered with it.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "app/platform/gl_window.hpp"
#include "app/platform/png_file.hpp"
#include "app/render/heatmap_renderer.hpp"

namespace attn::app {

struct Rgb {
    int r = 0, g = 0, b = 0;
    bool operator==(const Rgb&) const = default;
};

Rgb rgb_of(std::uint32_t color);
Rgb pixel(const Image& image, int x, int y);
/// The largest difference of any channel.
int distance(const Rgb& a, const Rgb& b);
std::ostream& operator<<(std::ostream& out, const Rgb& color);

HeatmapTheme test_theme(bool dark);

/// A matrix that owns its numbers.
struct Matrix {
    std::int64_t rows = 0, cols = 0;
    std::vector<float> values;
    std::vector<std::uint8_t> keep;

    Matrix(std::int64_t rows, std::int64_t cols, float value = 0);
    /// Uniform numbers in [lo, hi), reproducible by seed.
    static Matrix random(std::int64_t rows, std::int64_t cols, float lo, float hi, unsigned seed);
    float& at(std::int64_t row, std::int64_t col) { return values[static_cast<std::size_t>(row * cols + col)]; }
    void mask(std::int64_t row, std::int64_t col) { keep[static_cast<std::size_t>(row * cols + col)] = 0; }
    /// Without a key: uploaded every time.
    HeatmapRequest request(const HeatmapStyle& style) const { return {{0, values.data(), rows, cols, cols, keep.data()}, style}; }
};

class GlTest : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;
    /// Renders the heatmap as a picture.
    Image draw(const HeatmapRequest& request, int width, int height);
    /// Renders several on top of each other, the first one lowest.
    Image draw_all(const std::vector<HeatmapRequest>& requests, int width, int height);

    std::optional<GlWindow> window_;
    std::unique_ptr<HeatmapRenderer> renderer_;
    HeatmapTheme theme_ = test_theme(true);
    bool breaks_shaders_ = false;  ///< what does not compile is also a message of the driver, in builds that ask it for messages
};

}  // namespace attn::app
