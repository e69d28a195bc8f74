#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "app/widgets/line_plot.hpp"
#include "app/widgets/plot_axis.hpp"
#include "tests/support/imgui_fixture.hpp"

namespace attn::app {
namespace {

std::vector<std::string> texts(const PlotAxis& axis, int most) {
    std::vector<std::string> result;
    for (const PlotTick& tick : plot_ticks(axis, most)) result.push_back(tick.text);
    return result;
}

TEST(PlotAxis, RoundTicks) {
    using T = std::vector<std::string>;
    EXPECT_EQ(texts({0, 3.5}, 7), (T{"0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5"}));
    EXPECT_EQ(texts({0, 2000}, 4), (T{"0", "500", "1,000", "1,500", "2,000"}));
    EXPECT_EQ(texts({-0.2, 0.2}, 4), (T{"−0.2", "−0.1", "0", "0.1", "0.2"}));
    EXPECT_EQ(texts({1e-3, 1, true}, 6), (T{"0.001", "0.01", "0.1", "1"}));
    EXPECT_EQ(texts({1e-6, 1, true}, 4), (T{"1e−6", "1e−4", "0.01", "1"}));
    EXPECT_TRUE(texts({1, 1}, 5).empty());
    EXPECT_TRUE(texts({-1, 1, true}, 5).empty());
}

TEST(PlotAxis, TicksAreInsideAscendingAndDistinct) {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> exponent(-8, 8), unit(0, 1);
    for (int round = 0; round < 2000; ++round) {
        const bool log = round % 2 == 0;
        const double lo = (log ? 1 : unit(random) - 0.5) * std::pow(10.0, exponent(random));
        const PlotAxis axis = fit_axis(lo, lo + std::pow(10.0, exponent(random)), log, 0.05 * unit(random));
        ASSERT_TRUE(axis.lo < axis.hi);
        const auto ticks = plot_ticks(axis, 6);
        EXPECT_LE(ticks.size(), 14u);
        for (std::size_t i = 0; i < ticks.size(); ++i) {
            const double place = plot_place(axis, ticks[i].value);
            EXPECT_TRUE(place >= -1e-6 && place <= 1 + 1e-6) << ticks[i].value << " in " << axis.lo << ".." << axis.hi;
            if (i > 0) {
                EXPECT_TRUE(ticks[i].value > ticks[i - 1].value);
                EXPECT_TRUE(ticks[i].text != ticks[i - 1].text ||
                            std::max(std::abs(axis.lo), std::abs(axis.hi)) / (axis.hi - axis.lo) > 1e7)
                    << ticks[i].text;
            }
        }
        // A number of this size is accurate to one rounding, expressed as a fraction of the axis.
        constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
        const double size = std::max(std::abs(axis.lo), std::abs(axis.hi));
        const double tolerance =
            log ? kRounding / std::log(axis.hi / axis.lo) + kRounding : kRounding * size / (axis.hi - axis.lo) + kRounding;
        for (const double t : {0.0, 0.3, 1.0}) EXPECT_NEAR(plot_place(axis, plot_value(axis, t)), t, tolerance);
    }
}

TEST(PlotAxis, FitsWhateverComes) {
    const double inf = std::numeric_limits<double>::infinity();
    for (const double lo : {0.0, -3.0, 5.0, 1e308, -1e308, inf, -inf, std::nan("")}) {
        for (const double hi : {0.0, -3.0, 5.0, 1e308, inf, std::nan("")}) {
            for (const bool log : {false, true}) {
                const PlotAxis axis = fit_axis(lo, hi, log, 0.05);
                EXPECT_TRUE(axis.lo < axis.hi && std::isfinite(axis.lo) && std::isfinite(axis.hi)) << lo << " " << hi << " " << log;
                EXPECT_TRUE(!axis.log || axis.lo > 0);
            }
        }
    }
}

Curve curve_of(const std::vector<double>& x, const std::vector<float>& y) {
    Curve curve;
    for (std::size_t i = 0; i < x.size(); ++i) curve.append(x[i], y[i]);
    return curve;
}

std::vector<float> averaged(const std::vector<float>& y, double weight) {
    Curve curve;
    curve.smooth(weight);
    for (const float v : y) curve.append(static_cast<double>(curve.size()), v);
    const auto values = curve.smoothed().values();
    return {values.begin(), values.end()};
}

TEST(Curve, SmoothingStartsAtTheFirstNumberAndSkipsGaps) {
    const float nan = std::nanf("");
    for (const float v : averaged(std::vector<float>(20, 4), 0.9)) EXPECT_NEAR(v, 4, 1e-5);
    const auto out = averaged({nan, 2, nan, 2, 2}, 0.6);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[2]));
    EXPECT_NEAR(out[4], 2, 1e-6);
    EXPECT_NEAR(averaged({1, 3}, 0.5)[1], (0.25 * 1 + 0.5 * 3) / 0.75, 1e-6);
    EXPECT_TRUE(averaged({}, 0.5).empty());
}

TEST(Curve, AnAverageAskedForLaterIsTheSame) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> y(777);
    for (float& v : y) v = normal(random);
    Curve late;
    for (const float v : y) late.append(static_cast<double>(late.size()), v);
    EXPECT_EQ(late.smoothed().values().data(), late.raw().values().data());
    late.smooth(0.8);
    const auto early = averaged(y, 0.8);
    ASSERT_EQ(late.smoothed().values().size(), early.size());
    for (std::size_t i = 0; i < early.size(); ++i) EXPECT_EQ(late.smoothed().values()[i], early[i]);
}

TEST(Curve, RangesAreGatheredAsBySight) {
    std::mt19937 random(6);
    for (const std::size_t size : {1UL, 3UL, 4UL, 5UL, 16UL, 17UL, 63UL, 64UL, 65UL, 300UL, 1025UL}) {
        Pyramid pyramid;
        for (std::size_t i = 0; i < size; ++i) {
            pyramid.append(random() % 9 == 0 ? std::nanf("") : static_cast<float>(random() % 1000));
            // Every range that ends here, while the last groups are incomplete.
            const std::size_t first = random() % (i + 1), last = i + 1 - random() % (i + 1 - first);
            PointGroup expected;
            for (std::size_t k = first; k < last; ++k) {
                const float v = pyramid.values()[k];
                if (!std::isfinite(v)) continue;
                expected.min = expected.count == 0 ? v : std::min(expected.min, v);
                expected.max = expected.count == 0 ? v : std::max(expected.max, v);
                expected.sum += static_cast<double>(v);
                ++expected.count;
            }
            const PointGroup gathered = pyramid.gather({first, last});
            ASSERT_EQ(gathered.count, expected.count) << first << ".." << last << " of " << i + 1;
            ASSERT_EQ(gathered.sum, expected.sum);
            if (expected.count == 0) continue;
            ASSERT_EQ(gathered.min, expected.min);
            ASSERT_EQ(gathered.max, expected.max);
        }
    }
}

TEST(Curve, EnvelopeLosesNoExtreme) {
    std::mt19937 random(4);
    std::normal_distribution<float> normal(0, 1);
    for (const bool log : {false, true}) {
        std::vector<double> x;
        std::vector<float> y;
        for (int i = 0; i < 5000; ++i) {
            x.push_back(i + 1);
            y.push_back(i % 37 == 0 ? std::nanf("") : normal(random));
        }
        y[1234] = 50;
        y[4321] = -60;
        const Curve curve = curve_of(x, y);
        std::vector<EnvelopeColumn> columns;
        envelope(x, curve.raw(), {0, x.size()}, 300, log, columns);
        EXPECT_LE(columns.size(), 300u);
        float lo = 0, hi = 0;
        double before = 0;
        for (const EnvelopeColumn& column : columns) {
            EXPECT_TRUE(column.x > before);
            before = column.x;
            if (column.gap) continue;
            EXPECT_TRUE(column.min <= column.mean && column.mean <= column.max);
            lo = std::min(lo, column.min);
            hi = std::max(hi, column.max);
        }
        EXPECT_EQ(lo, -60);
        EXPECT_EQ(hi, 50);
        EXPECT_EQ(columns.back().x, 5000);
        envelope(x, curve.raw(), {10, 20}, 300, log, columns);
        EXPECT_EQ(columns.size(), 10u);
    }
}

TEST(Curve, RangesAndNearest) {
    const std::vector<double> x{0, 1, 2, 5, 9};
    const PointRange range = points_within(x, 1.5, 5);
    EXPECT_EQ(range.first, 1u);
    EXPECT_EQ(range.last, 5u);
    EXPECT_EQ(points_within(x, -5, -1).size(), 1u);
    EXPECT_EQ(points_within({}, 0, 1).size(), 0u);
    EXPECT_EQ(nearest_point(x, 3.4), 2u);
    EXPECT_EQ(nearest_point(x, 3.6), 3u);
    EXPECT_EQ(nearest_point(x, -9), 0u);
    EXPECT_EQ(nearest_point(x, 99), 4u);
    Pyramid y;
    for (int i = 0; i < 1000; ++i) y.append(i == 3 ? 1000 : i == 4 ? std::nanf("") : 1);
    EXPECT_EQ(extent_of(y, {0, 1000}, false).hi, 1000);
    EXPECT_EQ(extent_of(y, {0, 1000}, true).hi, 1);
    EXPECT_TRUE(extent_of(y, {4, 5}, false).empty());
}

class LinePlot : public test::ImGuiFixture {
protected:
    LinePlot() {
        for (int i = 0; i <= 1000; ++i) {
            x.push_back(i);
            y.push_back(3.0f / (1 + 0.01f * static_cast<float>(i)));
        }
    }
    std::function<void()> contents = [this] {
        cursor.begin_frame();
        Curve curve = curve_of(x, y);
        curve.smooth(0.6);
        const std::array<PlotSeries, 1> series{PlotSeries{.name = "train", .curve = &curve, .color = 0xFFFFFFFF}};
        const PlotResult now = line_plot(ui, "loss", ImVec2(100, 100), ImVec2(900, 500), series, view, cursor, options);
        if (now.clicked_x) clicked = now.clicked_x;
        changes += now.view_changed;
    };
    std::vector<double> x;
    std::vector<float> y;
    PlotView view;
    PlotCursor cursor;
    PlotOptions options{.axes = false};
    std::optional<double> clicked;
    int changes = 0;
};

TEST_F(LinePlot, CursorClickZoomAndPan) {
    frames(2, contents);
    EXPECT_FALSE(cursor.x);
    click(500, 300, contents);
    ASSERT_TRUE(clicked);
    EXPECT_NEAR(*clicked, 500, 1);
    frame(contents);
    ASSERT_TRUE(cursor.x);
    EXPECT_NEAR(*cursor.x, 500, 1) << "what other plots draw";
    wheel(1, contents);
    wheel(1, contents);
    EXPECT_FALSE(view.whole);
    EXPECT_NEAR(view.x_hi - view.x_lo, 1000 / 1.5625, 1);
    EXPECT_NEAR((view.x_lo + view.x_hi) / 2, 500, 1);
    clicked.reset();
    frames(30, contents);  // another click at once would be a double-click
    const double before = view.x_lo;
    drag(ImVec2(500, 300), ImVec2(600, 300), contents);
    EXPECT_NEAR(before - view.x_lo, 100.0 / 800 * (1000 / 1.5625), 2);
    EXPECT_FALSE(clicked);
    for (int i = 0; i < 40; ++i) wheel(-1, contents);
    EXPECT_TRUE(view.whole);
    x.push_back(2000);
    y.push_back(0.1f);
    clicked.reset();
    frames(30, contents);
    click(500, 300, contents);
    EXPECT_NEAR(*clicked, 1000, 2) << "a growing run stays whole in view";
}

TEST_F(LinePlot, ZoomingOutEndsExactlyAtTheFirstPoint) {
    // The rounded width of this axis, taken from its end, leads past its beginning: 6.8 - (6.8 - 0.1) < 0.1, and 6.8 / (6.8 / 0.1) < 0.1.
    x = {0.1, 1, 6.8};
    y = {3, 2, 1};
    for (const bool log : {false, true}) {
        view = {.whole = true, .x_lo = 0.1, .x_hi = 6.8, .log_x = log};
        frames(2, contents);
        move_mouse(500, 300);
        wheel(2, contents);
        ASSERT_FALSE(view.whole);
        ASSERT_GT(view.x_lo, x.front());
        for (int i = 0; i < 20; ++i) wheel(-1, contents);
        EXPECT_TRUE(view.whole);
        EXPECT_EQ(view.x_lo, x.front()) << log;
    }
}

TEST_F(LinePlot, ScrubbingFollowsTheMouse) {
    options.scrub = true;
    frames(2, contents);
    drag(ImVec2(300, 300), ImVec2(900, 300), contents);
    ASSERT_TRUE(clicked);
    EXPECT_NEAR(*clicked, 1000, 2);
    EXPECT_TRUE(view.whole);
}

TEST_F(LinePlot, EmptyNonFiniteAndLogarithmic) {
    options = {.x_title = "step", .y_title = "loss", .log_y = true, .ignore_outliers = true, .marker = 3.0};
    view.log_x = true;
    y[500] = std::numeric_limits<float>::infinity();
    y[0] = -1;
    frames(2, contents);
    EXPECT_GT(vertices(), 100);
    for (float& v : y) v = std::nanf("");
    frame(contents);
    x.clear();
    y.clear();
    frame(contents);
    view = {};
    x = {7};
    y = {2};
    frame(contents);
    EXPECT_GT(vertices(), 0);
}

}  // namespace
}  // namespace attn::app
