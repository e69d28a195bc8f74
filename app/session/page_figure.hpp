#pragma once
/// Pictures of maps and curves as SVG inside an HTML page: light, without outside fonts, readable when printed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::app {

/// Text for an element or an attribute; invalid UTF-8 and control characters are written out.
std::string html_text(std::string_view text);

/// A matrix to draw.
struct PageMap {
    std::int64_t rows = 0, cols = 0;
    std::vector<float> values;                      ///< [rows,cols]
    std::vector<std::uint8_t> masked;               ///< [rows,cols]; empty: nothing is masked
    std::vector<std::string> row_names, col_names;  ///< empty: numbers
    bool is_share = false;                          ///< from 0 to 1, else symmetric about 0
    std::optional<std::int64_t> row{}, col{};       ///< chosen
    bool turned = false;                            ///< orange for what is below 0, because that is what helps
    std::int64_t all_rows = 0, all_cols = 0;        ///< of what the matrix is the beginning of; 0: it is whole
    bool masked_at(std::int64_t r, std::int64_t c) const { return !masked.empty() && masked[static_cast<std::size_t>(r * cols + c)] != 0; }
    float at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
};

/// With labels and, where a cell has room, its number. `cell`: the largest side of a cell; the whole is at most 720 wide.
std::string map_svg(const PageMap& map, std::string_view title, double cell = 34);
/// The same numbers as an HTML table.
std::string map_table(const PageMap& map);

/// A curve over training steps.
struct PageCurve {
    std::string name;
    std::vector<std::pair<double, double>> points;
    bool dashed = false;
};
std::string curves_svg(const std::vector<PageCurve>& curves, std::string_view title);

}  // namespace attn::app
