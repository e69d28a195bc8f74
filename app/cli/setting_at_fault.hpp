#pragma once
/// Which of many settings makes a run impossible.

#include <functional>
#include <string>
#include <vector>

namespace attn::app {

/// The places of all values in a JSON object, such as "/model/d_model", in the file's order.
std::vector<std::string> places_of_values(const std::string& json);
/// The object without the value at this place.
std::string without_value(const std::string& json, const std::string& place);

/// The first of `settings` without which works(index) is true; those whose last part `problem` names are tried first. -1 if there is none.
int setting_at_fault(const std::vector<std::string>& settings, const std::string& problem, const std::function<bool(std::size_t)>& works);

}  // namespace attn::app
