/// Compares pixels drawn by the shader with colours computed on the CPU.

#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <random>

#include "app/render/cell_tiles.hpp"
#include "app/widgets/value_scale.hpp"
#include "tests/gl/gl_fixture.hpp"

#ifdef ATTN_SANITIZED
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace attn::app {
namespace {

constexpr ColorMap kMaps[] = {ColorMap::Sequential, ColorMap::Diverging, ColorMap::Viridis, ColorMap::Cividis, ColorMap::Grey};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const Rgb kMagenta{255, 0, 255};

class HeatmapTest : public GlTest {
protected:
    /// How many pixels differ by more than 1 from the colours of `style`; every cell is `side` pixels wide and high.
    int wrong_pixels(const Image& image, const Matrix& matrix, const HeatmapStyle& style, int side) {
        int wrong = 0;
        const HeatmapRequest request = matrix.request(style);
        for (int y = 0; y < image.height; ++y)
            for (int x = 0; x < image.width; ++x) {
                const std::int64_t row = y / side, col = x / side;
                const float value = matrix.values[static_cast<std::size_t>(row * matrix.cols + col)];
                const Rgb expected = rgb_of(renderer_->color(row_style(request.data, style, row), value));
                if (!(distance(pixel(image, x, y), expected) <= 1)) ++wrong;
            }
        return wrong;
    }
};

TEST_F(HeatmapTest, EveryMapInBothThemesHasTheColorsOfTheCpu) {
    constexpr int kSide = 7;
    const Matrix matrix = Matrix::random(9, 13, -1.5F, 1.5F, 1);  // some beyond both ends
    for (const bool dark : {true, false}) {
        theme_ = test_theme(dark);
        for (const ColorMap map : kMaps)
            for (const bool log : {false, true})
                for (const bool per_row : {false, true})
                    for (const auto& [lo, hi] : {std::pair{-1.0F, 1.0F}, {0.0F, 1.0F}, {0.01F, 1.2F}, {1e-30F, 2e-30F}, {0.5F, 0.5F}}) {
                        const HeatmapStyle style{map, lo, hi, per_row, log};
                        const Image image = draw(matrix.request(style), 13 * kSide, 9 * kSide);
                        EXPECT_EQ(wrong_pixels(image, matrix, style, kSide), 0)
                            << "map " << static_cast<int>(map) << " dark " << dark << " log " << log << " per row " << per_row << " " << lo
                            << " to " << hi;
                    }
    }
    // Negative control: with another range, colours are wrong nearly everywhere.
    const Image image = draw(matrix.request({ColorMap::Viridis, -1, 1}), 13 * kSide, 9 * kSide);
    EXPECT_GT(wrong_pixels(image, matrix, {ColorMap::Viridis, -2, 2}, kSide), 13 * 9 * kSide * kSide / 2);
}

/// A translucent map is blended with what is below, without another upload.
TEST_F(HeatmapTest, OpacityMixesWithWhatIsBelow) {
    constexpr int kSide = 8;
    const HeatmapStyle style{ColorMap::Viridis, 0, 1};
    Matrix below = Matrix::random(5, 5, 0, 1, 4), above = Matrix::random(5, 5, 0, 1, 5);
    for (const float share : {0.0F, 0.25F, 0.5F, 1.0F}) {
        HeatmapRequest over = above.request(style);
        over.opacity = share;
        const Image image = draw_all({below.request(style), over}, 5 * kSide, 5 * kSide);
        for (int row = 0; row < 5; ++row)
            for (int col = 0; col < 5; ++col) {
                const Rgb a = rgb_of(renderer_->color(style, below.at(row, col))), b = rgb_of(renderer_->color(style, above.at(row, col)));
                const auto mixed = [share](int from, int to) {
                    return static_cast<int>(std::lround(static_cast<float>(from) * (1 - share) + static_cast<float>(to) * share));
                };
                const Rgb expected{mixed(a.r, b.r), mixed(a.g, b.g), mixed(a.b, b.b)};
                EXPECT_LE(distance(pixel(image, col * kSide + 4, row * kSide + 4), expected), 2) << share;
            }
    }
}

TEST_F(HeatmapTest, ZeroOfASignedMapIsThePane) {
    for (const bool dark : {true, false}) {
        theme_ = test_theme(dark);
        for (const bool log : {false, true}) {
            const Image image = draw(Matrix(2, 2, 0).request({ColorMap::Diverging, -3, 3, false, log}), 8, 8);
            EXPECT_EQ(pixel(image, 4, 4), rgb_of(theme_.pane)) << dark << log;
        }
    }
}

TEST_F(HeatmapTest, HatchingIsInMaskedCellsAndNowhereElse) {
    constexpr int kSide = 24;
    for (const bool dark : {true, false}) {
        theme_ = test_theme(dark);
        Matrix matrix = Matrix::random(6, 6, 0.2F, 1, 2);
        for (int row = 0; row < 6; ++row)
            for (int col = row + 1; col < 6; ++col) matrix.mask(row, col);
        const HeatmapStyle style{ColorMap::Viridis, 0, 1};
        const Image image = draw(matrix.request(style), 6 * kSide, 6 * kSide);
        const Rgb pane = rgb_of(theme_.pane), line = rgb_of(theme_.line);
        for (int row = 0; row < 6; ++row)
            for (int col = 0; col < 6; ++col) {
                int of_pane = 0, of_line = 0, of_value = 0;
                for (int y = row * kSide; y < (row + 1) * kSide; ++y)
                    for (int x = col * kSide; x < (col + 1) * kSide; ++x) {
                        const Rgb p = pixel(image, x, y);
                        of_pane += distance(p, pane) <= 1 ? 1 : 0;
                        of_line += distance(p, line) <= 4 ? 1 : 0;
                        of_value += distance(p, rgb_of(renderer_->color(style, matrix.at(row, col)))) <= 1 ? 1 : 0;
                    }
                if (col > row) {
                    EXPECT_GT(of_line, kSide * kSide / 12) << row << ' ' << col;
                    EXPECT_GT(of_pane, kSide * kSide / 3) << row << ' ' << col;
                    EXPECT_EQ(of_value, 0) << row << ' ' << col;
                } else {
                    EXPECT_EQ(of_value, kSide * kSide) << row << ' ' << col;
                }
            }
        // At 45°, one pixel to the right equals one pixel down.
        EXPECT_EQ(pixel(image, 3 * kSide + 5, 4), pixel(image, 3 * kSide + 4, 5));
    }
}

TEST_F(HeatmapTest, WhatIsNotANumberIsLoud) {
    constexpr int kSide = 16;
    Matrix matrix(1, 3);
    matrix.at(0, 0) = kNan;
    matrix.at(0, 1) = kInfinity;
    matrix.at(0, 2) = -kInfinity;
    for (const bool per_row : {false, true}) {
        const Image image = draw(matrix.request({ColorMap::Sequential, 0, 1, per_row}), 3 * kSide, kSide);
        const Rgb stripes[] = {kMagenta, {255, 255, 255}, {0, 0, 0}};
        for (int cell = 0; cell < 3; ++cell) {
            int magenta = 0, stripe = 0;
            for (int y = 0; y < kSide; ++y)
                for (int x = cell * kSide; x < (cell + 1) * kSide; ++x) {
                    magenta += pixel(image, x, y) == kMagenta ? 1 : 0;
                    stripe += pixel(image, x, y) == stripes[cell] ? 1 : 0;
                }
            EXPECT_EQ(magenta, cell == 0 ? kSide * kSide : kSide * kSide / 2) << cell;
            EXPECT_EQ(stripe, cell == 0 ? kSide * kSide : kSide * kSide / 2) << cell;
        }
    }
    EXPECT_EQ(renderer_->color({}, kNan), kNanColor);
}

TEST_F(HeatmapTest, AHotCellSurvivesAnyReduction) {
    struct Case {
        std::int64_t rows, cols;
        int width, height;
    };
    std::mt19937 generator(3);
    const HeatmapStyle style{ColorMap::Diverging, -1, 1};
    for (const Case& c : {Case{1000, 700, 100, 37}, {4, 5000, 301, 60}, {3000, 3, 17, 200}, {257, 257, 256, 256}, {2500, 2300, 41, 23}}) {
        Matrix matrix(c.rows, c.cols);
        const HeatmapRequest request = matrix.request(style);
        const auto count = [&](float value) {
            const Image image = draw(request, c.width, c.height);
            int found = 0;
            for (int y = 0; y < c.height; ++y)
                for (int x = 0; x < c.width; ++x)
                    found += distance(pixel(image, x, y), rgb_of(renderer_->color(style, value))) <= 1 ? 1 : 0;
            return found;
        };
        EXPECT_EQ(count(-1), 0);
        for (int i = 0; i < 12; ++i) {
            const auto row = static_cast<std::int64_t>(generator() % static_cast<unsigned>(c.rows));
            const auto col = static_cast<std::int64_t>(generator() % static_cast<unsigned>(c.cols));
            const float hot = i % 2 == 0 ? -1.0F : 1.0F;
            matrix.at(row, col) = hot;
            const int found = count(hot);
            EXPECT_GE(found, 1) << row << ", " << col << " of " << c.rows << " x " << c.cols;
            // Cells are not smeared: an enlarged axis shows only the cell, a reduced one a pixel or two.
            const int width = std::max(2, static_cast<int>(c.width / c.cols) + 1),
                      height = std::max(2, static_cast<int>(c.height / c.rows) + 1);
            EXPECT_LE(found, width * height) << row << ", " << col << " of " << c.rows << " x " << c.cols;
            matrix.at(row, col) = 0;
        }
    }
}

TEST_F(HeatmapTest, ABlockIsMaskedOnlyIfAllOfItIs) {
    Matrix matrix(64, 64, 1);
    for (int row = 0; row < 64; ++row)
        for (int col = 0; col < 64; ++col)
            if (col >= 32 || (row + col) % 2 == 0) matrix.mask(row, col);
    const Image image = draw(matrix.request({ColorMap::Sequential, 0, 1}), 16, 16);
    const Rgb hot = rgb_of(renderer_->color({ColorMap::Sequential, 0, 1}, 1));
    for (int y = 0; y < 16; ++y)
        for (int x = 0; x < 16; ++x) EXPECT_EQ(distance(pixel(image, x, y), hot) <= 1, x < 8) << x << ' ' << y;
}

TEST_F(HeatmapTest, ZoomShowsTheCellsAskedForAcrossTiles) {
    constexpr int kSide = 10, kAcross = 20;
    const Matrix matrix = Matrix::random(2100, 2200, 0, 1, 4);
    const HeatmapStyle style{ColorMap::Viridis, 0, 1};
    for (const auto& [row0, col0] : {std::pair{0, 0}, {1015, 1014}, {2039, 2040}, {2080, 2180}}) {
        HeatmapRequest request = matrix.request(style);
        request.first_row = static_cast<float>(row0);
        request.first_col = static_cast<float>(col0);
        request.last_row = static_cast<float>(row0 + kAcross);
        request.last_col = static_cast<float>(col0 + kAcross);
        const Image image = draw(request, kAcross * kSide, kAcross * kSide);
        int wrong = 0;
        for (int y = 0; y < image.height; ++y)
            for (int x = 0; x < image.width; ++x) {
                const float value = matrix.values[static_cast<std::size_t>((row0 + y / kSide) * matrix.cols + col0 + x / kSide)];
                wrong += distance(pixel(image, x, y), rgb_of(renderer_->color(style, value))) <= 1 ? 0 : 1;
            }
        EXPECT_EQ(wrong, 0) << row0 << ' ' << col0;
    }
}

TEST_F(HeatmapTest, BeyondTheMatrixNothingIsDrawn) {
    const Matrix matrix(4, 4, 1);
    HeatmapRequest request = matrix.request({});
    request.first_row = request.first_col = -2;
    request.last_row = request.last_col = 6;
    const Image image = draw(request, 80, 80);
    const Rgb untouched{0, 255, 0};
    for (int i = 0; i < 80; ++i) EXPECT_EQ(pixel(image, i, i) == untouched, i < 20 || i >= 60) << i;
}

/// Memory of this process: what is resident, or of a sanitizer, which keeps what has been freed for a while, what is allocated.
double used_mib() {
#ifdef ATTN_SANITIZED
    return static_cast<double>(::__sanitizer_get_current_allocated_bytes()) / (1 << 20);
#else
    std::ifstream statm("/proc/self/statm");
    double total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
#endif
}

TEST_F(HeatmapTest, LinesBetweenLargeCellsOnly) {
    const Matrix matrix(4, 4, 1);
    HeatmapRequest request = matrix.request({});
    request.grid = true;
    const Image large = draw(request, 80, 80), small = draw(request, 24, 24);
    EXPECT_EQ(pixel(large, 20, 10), rgb_of(theme_.line));
    EXPECT_EQ(pixel(large, 10, 40), rgb_of(theme_.line));
    EXPECT_NE(pixel(large, 10, 10), rgb_of(theme_.line));
    for (int i = 0; i < 24; ++i) EXPECT_NE(pixel(small, i, 3), rgb_of(theme_.line)) << i;
}

TEST_F(HeatmapTest, StridedRowsAreReadWithTheirStride) {
    Matrix wide = Matrix::random(5, 12, 0, 1, 5);
    HeatmapRequest request{{0, wide.values.data() + 3, 5, 4, 12, nullptr}, {}};
    const Image image = draw(request, 40, 50);
    for (int row = 0; row < 5; ++row)
        for (int col = 0; col < 4; ++col)
            EXPECT_LE(distance(pixel(image, 10 * col + 5, 10 * row + 5), rgb_of(renderer_->color({}, wide.at(row, col + 3)))), 1);
}

TEST_F(HeatmapTest, NumbersAreUploadedOncePerKeyAndForgottenInTime) {
    constexpr std::size_t kBudget = 40 * 1000;
    renderer_ = std::make_unique<HeatmapRenderer>(ShaderSource{}, kBudget);
    const Matrix matrix = Matrix::random(50, 50, 0, 1, 6);  // 10 000 bytes
    HeatmapRequest request = matrix.request({});
    request.data.key = 1;
    draw(request, 100, 100);
    draw(request, 100, 100);
    EXPECT_EQ(renderer_->uploads(), 1U);
    request.style = {ColorMap::Grey, -3, 7, false, true};
    draw(request, 100, 100);
    EXPECT_EQ(renderer_->uploads(), 1U) << "another colouring needs no upload";
    for (std::uint64_t key = 2; key < 30; ++key) {
        request.data.key = key;
        draw(request, 100, 100);
        EXPECT_LE(renderer_->cached_bytes(), kBudget + 10000);
    }
    EXPECT_EQ(renderer_->uploads(), 29U);
    request.data.key = 1;
    draw(request, 100, 100);
    EXPECT_EQ(renderer_->uploads(), 30U) << "the first one was forgotten";
}

// A texture costs the driver kilobytes even if it has few texels. If only texels were counted, all of these would be kept.
TEST_F(HeatmapTest, SmallMapsOfManyTracesAreForgottenToo) {
    const Matrix matrix = Matrix::random(9, 9, 0, 1, 6);
    constexpr std::uint64_t kTraces = 8'000;  // if their textures were kept, the last 7,500 would take some 20 MiB
    const PixelRect rect{0, 0, 18, 18};       // a small part of the target: this is about textures, and drawing pixels takes longest
    HeatmapRequest request = matrix.request({});
    double before = 0;
    for (std::uint64_t key = 1; key <= kTraces; ++key) {
        request.data.key = key;
        renderer_->begin_frame(theme_);
        renderer_->draw(renderer_->prepare(request, rect, rect), 1800, 1800);
        ASSERT_LE(renderer_->cached_tiles(), HeatmapRenderer::kMaxTiles + 1);
        glFinish();  // as at the end of a frame; pending draw calls keep their textures alive
        if (key == 500) before = used_mib();
    }
    EXPECT_EQ(renderer_->uploads(), kTraces);
    EXPECT_LT(used_mib() - before, 5);
}

TEST_F(HeatmapTest, MapsThatAFrameHasNoTimeForComeInTheNext) {
    constexpr std::size_t kCount = 5;
    const Matrix matrix = Matrix::random(9, 9, 0, 1, 6);
    const PixelRect rect{0, 0, 90, 90};
    std::size_t most = 0;
    // Without any upload budget one map per frame is uploaded; new numbers are never mixed with old ones.
    for (std::size_t frame = 0; frame < kCount; ++frame) {
        renderer_->begin_frame(theme_, std::chrono::steady_clock::duration::zero());
        std::size_t drawn = 0;
        for (std::uint64_t key = 1; key <= kCount; ++key) {
            HeatmapRequest request = matrix.request({});
            request.data.key = key;
            drawn += renderer_->prepare(request, rect, rect).tiles.empty() ? 0 : 1;
        }
        EXPECT_EQ(drawn, frame + 1);
        EXPECT_EQ(renderer_->left_out(), drawn < kCount);
        most = std::max(most, drawn);
    }
    EXPECT_EQ(most, kCount);
    EXPECT_EQ(renderer_->uploads(), kCount);
    // A still picture shows all maps at once.
    renderer_->begin_frame(theme_);
    for (std::uint64_t key = 11; key <= 10 + kCount; ++key) {
        HeatmapRequest request = matrix.request({});
        request.data.key = key;
        EXPECT_FALSE(renderer_->prepare(request, rect, rect).tiles.empty());
    }
    EXPECT_FALSE(renderer_->left_out());
}

TEST_F(HeatmapTest, NoPartOfAMapIsDrawnBeforeTheRest) {
    const Matrix matrix = Matrix::random(3, kTileTexels + 5, 0, 1, 6);
    HeatmapRequest request = matrix.request({});
    request.data.key = 1;
    const PixelRect rect{0, 0, 2 * (kTileTexels + 5), 30};
    for (const std::size_t tiles : {0U, 2U}) {
        renderer_->begin_frame(theme_, std::chrono::steady_clock::duration::zero());
        EXPECT_EQ(renderer_->prepare(request, rect, rect).tiles.size(), tiles);
        EXPECT_EQ(renderer_->left_out(), tiles == 0);
    }
}

TEST_F(HeatmapTest, WhatCannotBeSeenIsNotUploaded) {
    const Matrix matrix(8, 8, 1);
    renderer_->begin_frame(theme_);
    const PixelRect rect{0, 0, 100, 100};
    EXPECT_TRUE(renderer_->prepare(matrix.request({}), rect, {100, 0, 200, 100}).tiles.empty());
    EXPECT_TRUE(renderer_->prepare(matrix.request({}), {5, 5, 5, 80}, rect).tiles.empty());
    EXPECT_TRUE(renderer_->prepare(Matrix(0, 5).request({}), rect, rect).tiles.empty());
    HeatmapRequest of_no_columns = matrix.request({});
    of_no_columns.first_col = of_no_columns.last_col = 3;
    of_no_columns.last_row = 8;
    EXPECT_TRUE(renderer_->prepare(of_no_columns, rect, rect).tiles.empty());
    EXPECT_EQ(renderer_->uploads(), 0U);
    EXPECT_FALSE(renderer_->prepare(matrix.request({}), rect, rect).tiles.empty());
}

TEST_F(HeatmapTest, ImpossibleRequestsAreRefused) {
    const Matrix matrix(8, 8, 1);
    const PixelRect rect{0, 0, 100, 100};
    HeatmapRequest request = matrix.request({ColorMap::Auto, 0, 1});
    EXPECT_THROW(renderer_->prepare(request, rect, rect), std::invalid_argument);
    request = matrix.request({});
    request.data.row_stride = 7;
    EXPECT_THROW(renderer_->prepare(request, rect, rect), std::invalid_argument);
}

}  // namespace
}  // namespace attn::app
