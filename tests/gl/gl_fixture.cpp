#include "tests/gl/gl_fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <random>

#include "app/widgets/theme.hpp"

namespace attn::app {

Rgb rgb_of(std::uint32_t color) {
    return {static_cast<int>(color & 0xFF), static_cast<int>((color >> 8) & 0xFF), static_cast<int>((color >> 16) & 0xFF)};
}

Rgb pixel(const Image& image, int x, int y) {
    const std::uint8_t* p =
        image.pixels.data() + 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(x));
    return {p[0], p[1], p[2]};
}

int distance(const Rgb& a, const Rgb& b) { return std::max({std::abs(a.r - b.r), std::abs(a.g - b.g), std::abs(a.b - b.b)}); }

std::ostream& operator<<(std::ostream& out, const Rgb& color) { return out << '(' << color.r << ' ' << color.g << ' ' << color.b << ')'; }

HeatmapTheme test_theme(bool dark) {
    const Palette& colors = palette(dark);
    return {dark, colors.pane, colors.line, colors.text, 1};
}

Matrix::Matrix(std::int64_t rows_, std::int64_t cols_, float value)
    : rows(rows_), cols(cols_), values(static_cast<std::size_t>(rows * cols), value), keep(values.size(), 1) {}

Matrix Matrix::random(std::int64_t rows, std::int64_t cols, float lo, float hi, unsigned seed) {
    Matrix matrix(rows, cols);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> number(lo, hi);
    for (float& v : matrix.values) v = number(generator);
    return matrix;
}

void GlTest::SetUp() {
    window_.emplace("attnscope", WindowPlacement{}, false);
    renderer_ = std::make_unique<HeatmapRenderer>(ShaderSource{});
}

void GlTest::TearDown() {
    if (!window_) return;  // no OpenGL available
    EXPECT_NO_THROW(check_gl("the test"));
    renderer_.reset();
    if (!breaks_shaders_) {
        EXPECT_TRUE(window_->messages().empty()) << window_->messages().front();
    }
    window_.reset();
}

Image GlTest::draw(const HeatmapRequest& request, int width, int height) { return draw_all({request}, width, height); }

Image GlTest::draw_all(const std::vector<HeatmapRequest>& requests, int width, int height) {
    const Framebuffer target(width, height);
    target.bind();
    glDisable(GL_SCISSOR_TEST);
    glClearColor(0, 1, 0, 1);  // no map contains this green
    glClear(GL_COLOR_BUFFER_BIT);
    renderer_->begin_frame(theme_);
    const PixelRect all{0, 0, static_cast<float>(width), static_cast<float>(height)};
    for (const HeatmapRequest& request : requests) renderer_->draw(renderer_->prepare(request, all, all), width, height);
    return {width, height, read_pixels(width, height)};
}

}  // namespace attn::app
