#include "app/panels/kit/problem_sentence.hpp"

#include <algorithm>
#include <string_view>

namespace attn::app {
namespace {

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }

/// Errors of files are "NAME: PROBLEM" or "NAME, PLACE: PROBLEM", and a name may have spaces.
bool begins_with_a_name(std::string_view problem) {
    const std::string_view word = problem.substr(0, problem.find(' '));
    if (word.find_first_of("_/") != std::string_view::npos || word.ends_with(':')) return true;
    const std::string_view subject = problem.substr(0, std::min(problem.find(": "), problem.find(", ")));
    for (std::size_t dot = subject.find('.'); dot != std::string_view::npos; dot = subject.find('.', dot + 1))
        if (dot + 1 < subject.size() && is_small_letter(subject[dot + 1])) return true;
    return false;
}

}  // namespace

std::string problem_sentence(std::string problem) {
    if (!problem.empty() && is_small_letter(problem[0]) && !begins_with_a_name(problem))
        problem[0] = static_cast<char>(problem[0] - 'a' + 'A');
    return problem;
}

}  // namespace attn::app
