#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/doctor/assumptions.hpp"
#include "engine/doctor/refutation.hpp"
#include "engine/doctor/rotation.hpp"

namespace attn::doctor {
namespace {

std::string words_of(const Trial& trial, const Rotation& rotation) {
    return fmt::format("q and k are rotated by rotary positions before their product ({}), which the file does not show.",
                       rotation_words(rotation, trial.sequence.head_size));
}

Sequence with_rotation(const Trial& trial, const Rotation& rotation) {
    Sequence turned = trial.sequence;
    turned.rotation = rotation;
    return turned;
}

bool shows_rotation(const Trial& trial) {
    return trial.sequence.rotation || trial.sequence.has(Part::QRotated) || trial.sequence.has(Part::KRotated);
}

bool states_rotation(const Trial& trial) { return trial.sequence.rotary_base || trial.sequence.rotary_width; }

/// Whether a rotation has a width that nothing but the scores shows.
bool is_guess(const Trial& trial, const Rotation& rotation) {
    return rotation.width < trial.sequence.head_size && !trial.sequence.rotary_width && trial.known.rotation == nullptr;
}

/// Of the many offsets of positions, one may fit two or three numbers by chance.
bool fits_by_chance(const Trial& trial, const Rotation& rotation) {
    constexpr std::int64_t kFew = 4;
    const Comparison* difference = trial.found.outcome.first_difference();
    const bool shifted =
        rotation.first_query != rotation.first_key && rotation.first_query != rotation.first_key + trial.sequence.first_query();
    return shifted && difference != nullptr && difference->differing < kFew;
}

/// The rotations that agree with what the file says and are over the width that it gives, or whole heads.
std::vector<Rotation> stated_rotations(const Trial& trial) {
    if (!states_rotation(trial)) return {};
    std::vector<Rotation> out = usual_rotations(trial.sequence);
    std::erase_if(out, [&](const Rotation& rotation) { return is_guess(trial, rotation); });
    return out;
}

/// Rotations to try if no recorded tensor shows one; first those that the file states.
std::vector<Rotation> possible_rotations(const Trial& trial) {
    const int first = trial.first_failure();
    const bool only_context =
        first >= static_cast<int>(Part::Context) && !trial.sequence.has(Part::Weights) && trial.sequence.head_size > 0;
    if (!only_context && (first < static_cast<int>(Part::Scores) || first > static_cast<int>(Part::Weights))) return {};
    std::vector<Rotation> out = stated_rotations(trial);
    for (const Rotation& rotation : only_context ? usual_rotations(trial.sequence) : hidden_rotations(trial.sequence))
        if (!fits_by_chance(trial, rotation) && (!only_context || explains_more(trial, with_rotation(trial, rotation))))
            out.push_back(rotation);
    return out;
}

bool take_rotation(Trial& trial, const Rotation& rotation, Judgement judgement) {
    if (!adopt(trial, std::move(judgement), words_of(trial, rotation))) return false;
    trial.found.rotation = rotation;
    return true;
}

/// Tries those that are guesses, or the others; those that leave nothing wrong count first.
bool adopt_rotation(Trial& trial, const std::vector<Rotation>& possible, bool guesses) {
    std::vector<std::pair<Rotation, Judgement>> wrong;
    for (const Rotation& rotation : possible) {
        if (is_guess(trial, rotation) != guesses) continue;
        const Sequence turned = with_rotation(trial, rotation);
        if (!may_explain(trial, turned, assuming(trial))) continue;
        Judgement judgement = judge_as_given(turned, assuming(trial));
        if (judgement.right) return take_rotation(trial, rotation, std::move(judgement));
        wrong.emplace_back(rotation, std::move(judgement));
    }
    return std::any_of(wrong.begin(), wrong.end(), [&](auto& each) { return take_rotation(trial, each.first, std::move(each.second)); });
}

}  // namespace

bool find_stated_rotation(Trial& trial) {
    if (trial.known.assumed || shows_rotation(trial) || trial.sequence.head_size == 0) return false;
    for (const Rotation& rotation : stated_rotations(trial)) {
        const Sequence turned = with_rotation(trial, rotation);
        if (!explains_more(trial, turned) || !explains_all(trial, turned)) continue;
        if (trial.sequence.queries == 1 && trial.sequence.keys == 1) {
            trial.found.undecided = Undecided::Rotation;
            return true;
        }
        if (take_rotation(trial, rotation, judge_as_given(turned, assuming(trial)))) return true;
    }
    return false;
}

bool find_hidden_rotation(Trial& trial) {
    if (shows_rotation(trial)) return false;
    const std::vector<Rotation> possible =
        trial.known.rotation != nullptr ? std::vector<Rotation>{*trial.known.rotation} : possible_rotations(trial);
    const auto guess = [&](const Rotation& rotation) { return is_guess(trial, rotation); };
    const bool guesses = differs_in_many_cells(trial) && std::any_of(possible.begin(), possible.end(), guess);
    return adopt_rotation(trial, possible, false) || (guesses && (find_swap(trial) || adopt_rotation(trial, possible, true)));
}

}  // namespace attn::doctor
