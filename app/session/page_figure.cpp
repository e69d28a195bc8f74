#include "app/session/page_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

constexpr double kWidest = 720, kLetter = 6.7, kFontSize = 11, kLeastForNumber = 26, kLeastForName = 11;
constexpr std::size_t kLongestName = 14;

using Rgb = std::array<double, 3>;
constexpr Rgb kPaper{255, 255, 255}, kBlue{31, 98, 176}, kOrange{204, 102, 0};

std::string color_of(const PageMap& map, double reach, float value) {
    const double share = reach > 0 ? std::clamp(std::abs(static_cast<double>(value)) / reach, 0.0, 1.0) : 0;
    const bool orange = !map.is_share && (map.turned ? value < 0 : value > 0);
    const Rgb& end = orange ? kOrange : kBlue;
    std::array<int, 3> mixed{};
    for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<int>(std::lround(kPaper[i] + share * (end[i] - kPaper[i])));
    return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

/// The largest magnitude among the numbers that are drawn.
double reach_of(const PageMap& map) {
    double reach = map.is_share ? 1 : 0;
    for (std::int64_t i = 0; i < map.rows * map.cols; ++i) {
        const auto magnitude = std::abs(static_cast<double>(map.values[static_cast<std::size_t>(i)]));
        if (std::isfinite(magnitude) && !map.masked_at(i / map.cols, i % map.cols)) reach = std::max(reach, magnitude);
    }
    return reach;
}

std::string number_words(float value, int decimals) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    const std::string text = fmt::format("{:.{}f}", std::abs(static_cast<double>(value)), decimals);
    const bool zero = text.find_first_not_of("0.") == std::string::npos;
    return (value < 0 && !zero ? "−" : "") + text;
}

std::string name_at(const std::vector<std::string>& names, std::int64_t i) {
    if (names.empty()) return std::to_string(i);
    std::string name = names[static_cast<std::size_t>(i)];
    if (name.size() <= kLongestName) return name;
    std::size_t end = kLongestName - 1;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // whole characters only
    return name.substr(0, end) + "…";
}

double longest_name(const std::vector<std::string>& names, std::int64_t count) {
    std::size_t letters = 0;
    for (std::int64_t i = 0; i < count; ++i) letters = std::max(letters, name_at(names, i).size());
    return kLetter * static_cast<double>(letters) + 8;
}

struct MapLayout {
    double left = 0, top = 0, width = 0, height = 0;  ///< of a cell: width and height
    double x(std::int64_t col) const { return left + width * static_cast<double>(col); }
    double y(std::int64_t row) const { return top + height * static_cast<double>(row); }
};

MapLayout lay_out(const PageMap& map, double cell) {
    MapLayout out;
    out.left = longest_name(map.row_names, map.rows);
    out.top = longest_name(map.col_names, map.cols);
    out.width = std::min(cell, (kWidest - out.left) / static_cast<double>(map.cols));
    out.height = std::clamp(kWidest / static_cast<double>(map.rows), 2.0, std::max(out.width, std::min(cell, 18.0)));
    return out;
}

void add_labels(std::string& svg, const PageMap& map, const MapLayout& at) {
    const auto every = [](double size) { return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(kLeastForName / size))); };
    for (std::int64_t r = 0; r < map.rows; r += every(at.height))
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\"{}>{}</text>", at.left - 5,
                           at.y(r) + at.height / 2 + kFontSize * 0.36, map.row == r ? " class=\"on\"" : "",
                           html_text(name_at(map.row_names, r)));
    for (std::int64_t c = 0; c < map.cols; c += every(at.width)) {
        const double x = at.x(c) + at.width / 2 + kFontSize * 0.36;
        svg += fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\"{}>{}</text>", x, at.top - 5,
                           map.col == c ? " class=\"on\"" : "", html_text(name_at(map.col_names, c)));
    }
}

void add_cells(std::string& svg, const PageMap& map, const MapLayout& at) {
    const double reach = reach_of(map);
    const bool numbers = at.width >= kLeastForNumber && at.height >= 14;
    const int decimals = reach >= 100 ? 0 : reach >= 10 ? 1 : 2;
    for (std::int64_t r = 0; r < map.rows; ++r)
        for (std::int64_t c = 0; c < map.cols; ++c) {
            const bool masked = map.masked_at(r, c);
            const float value = map.at(r, c);
            const std::string fill = masked ? "url(#hatch)" : std::isfinite(value) ? color_of(map, reach, value) : "#ff00ff";
            svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>", at.x(c), at.y(r),
                               at.width, at.height, fill);
            if (!numbers || masked) continue;
            const bool deep = reach > 0 && std::abs(static_cast<double>(value)) > 0.6 * reach;
            svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" class=\"{}\">{}</text>", at.x(c) + at.width / 2,
                               at.y(r) + at.height / 2 + 3.2, deep ? "n d" : "n", number_words(value, decimals));
        }
}

void add_chosen(std::string& svg, const PageMap& map, const MapLayout& at) {
    if (!map.row && !map.col) return;
    const double x = map.col ? at.x(*map.col) : at.left, y = map.row ? at.y(*map.row) : at.top;
    const double width = map.col ? at.width : at.width * static_cast<double>(map.cols);
    const double height = map.row ? at.height : at.height * static_cast<double>(map.rows);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"c\"/>", x, y, width, height);
}

}  // namespace

std::string html_text(std::string_view text) {
    std::string out;
    for (const char c : escaped(text, 0)) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else if (c == '\'') out += "&#39;";
        else out += c;
    }
    return out;
}

std::string map_svg(const PageMap& map, std::string_view title, double cell) {
    if (map.rows == 0 || map.cols == 0) return "";
    const MapLayout at = lay_out(map, cell);
    const double width = at.x(map.cols) + 2, height = at.y(map.rows) + 2;
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" style=\"max-width:{0:.0f}px\" role=\"img\" aria-label=\"{2}\"><title>{2}</title>",
                    width, height, html_text(title));
    add_labels(svg, map, at);
    add_cells(svg, map, at);
    add_chosen(svg, map, at);
    return svg + "</svg>";
}

std::string map_table(const PageMap& map) {
    std::string table = "<table><tr><th></th>";
    for (std::int64_t c = 0; c < map.cols; ++c) table += "<th>" + html_text(name_at(map.col_names, c)) + "</th>";
    table += "</tr>";
    for (std::int64_t r = 0; r < map.rows; ++r) {
        table += "<tr><th>" + html_text(name_at(map.row_names, r)) + "</th>";
        for (std::int64_t c = 0; c < map.cols; ++c) {
            const bool chosen = map.row == r && map.col == c;
            table += fmt::format("<td{}>{}</td>", chosen ? " class=\"on\"" : "", map.masked_at(r, c) ? "–" : number_words(map.at(r, c), 4));
        }
        table += "</tr>";
    }
    return table + "</table>";
}

std::string curves_svg(const std::vector<PageCurve>& curves, std::string_view title) {
    constexpr double kWidth = 640, kHeight = 280, kLeft = 44, kTop = 12, kRight = 620, kBottom = 246;
    double last = 1, most = 0;
    for (const PageCurve& curve : curves)
        for (const auto& [step, value] : curve.points) {
            last = std::max(last, step);
            if (std::isfinite(value)) most = std::max(most, value);
        }
    if (most == 0) most = 1;
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" aria-label=\"{2}\"><title>{2}</title>", kWidth,
                    kHeight, html_text(title));
    svg += fmt::format("<path d=\"M{} {}V{}H{}\" class=\"a\"/>", kLeft, kTop, kBottom, kRight);
    svg += fmt::format("<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2:.2f}</text><text x=\"{0}\" y=\"{3}\" text-anchor=\"end\">0</text>",
                       kLeft - 6, kTop + 10, most, kBottom);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">step {:.0f}</text>", kRight, kBottom + 18, last);
    double name_y = kTop + 10;
    for (const PageCurve& curve : curves) {
        std::string points;
        for (const auto& [step, value] : curve.points)
            if (std::isfinite(value))
                points += fmt::format("{:.1f},{:.1f} ", kLeft + (kRight - kLeft) * step / last, kBottom - (kBottom - kTop) * value / most);
        svg += fmt::format("<polyline points=\"{}\" class=\"{}\"/>", points, curve.dashed ? "l k" : "l");
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} {}</text>", kRight, name_y, curve.dashed ? "– – –" : "———",
                           html_text(curve.name));
        name_y += 16;
    }
    return svg + "</svg>";
}

}  // namespace attn::app
