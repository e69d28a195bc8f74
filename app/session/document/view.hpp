#pragma once
/// The views of the window, with the names used in files, commands and tabs.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attn::app {

enum class View : std::uint8_t { Step, Heads, Grid, Lines, Totals, Lens, KnockOut, Write, Precision, Train, Doctor };

struct ViewInfo {
    View view;
    std::string_view name;   ///< in files and on the command line, such as "step"
    std::string_view title;  ///< label of its tab
    char key;                ///< the key that opens it
    std::string_view shows;  ///< what it shows, in one sentence
};

/// All views in enumeration order, which is also the order of the tabs.
std::span<const ViewInfo> views();
const ViewInfo& view_info(View view);
/// Whether it draws maps, which can also be gradients or differences.
bool shows_maps(View view);
std::optional<View> view_from_name(std::string_view name);

}  // namespace attn::app
