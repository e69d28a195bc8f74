#pragma once
/// The words of the stories by what they are about.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// What the words are about, for people who look for one.
enum class StoryWords : std::uint8_t { Names, Toys, Looks, Places, Animals, Feelings, Other };
inline constexpr std::array<std::string_view, 7> kStoryWordsNames = {"names", "toys", "looks", "places", "animals", "feelings", "other"};
/// Of every word of the stories.
const std::vector<StoryWords>& story_words();

}  // namespace attn
