#pragma once
/// Makes the work of a regular expression countable.

#include <string>
#include <string_view>

namespace attn {

/// The callouts that with_counted_loops() inserts, in Oniguruma's sense: one before each pass through a loop, one before each comparison
/// with an earlier group.
inline constexpr std::string_view kPassCallout = "p", kComparisonCallout = "c";

/// An expression that matches the same as `pattern`, which Oniguruma must accept. Between two callouts it passes no part of itself twice,
/// except when it goes back. Throws ConfigError naming a construct with loops of its own that cannot be counted: calls of groups, absent
/// operators, conditions, callouts, free spacing.
std::string with_counted_loops(std::string_view pattern);

}  // namespace attn
