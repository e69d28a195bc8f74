#pragma once
/// The views that the window can show, by the names that files, commands and tabs use.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attn::app {

enum class View : std::uint8_t { Step, Heads, Grid, Lines, Totals, Lens, KnockOut, Write, Precision, Train, Doctor };

struct ViewInfo {
    View view;
    std::string_view name;   ///< in files and on the command line: "step"
    std::string_view title;  ///< on its tab
    char key;                ///< shows it
    std::string_view shows;  ///< one sentence
};

/// All of them, in the order of the enumeration, which is that of the tabs.
std::span<const ViewInfo> views();
const ViewInfo& view_info(View view);
std::optional<View> view_from_name(std::string_view name);

}  // namespace attn::app
