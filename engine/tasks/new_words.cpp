#include "engine/tasks/new_words.hpp"

#include <cctype>
#include <string>

#include "engine/grammar/stories.hpp"

namespace attn {
namespace {

constexpr std::int32_t kNotMet = -1;

double chance_of(const NewWords& settings, std::int32_t word) {
    const auto id = static_cast<std::size_t>(word);
    if (names_and_toys()[id]) return settings.names_and_toys;
    const bool is_mark = std::isalpha(static_cast<unsigned char>(stories().vocabulary()[id].front())) == 0;
    return is_mark ? 0 : settings.other_words;
}

}  // namespace

void bring_in_new_words(const NewWords& settings, Draws& draws, std::vector<std::int32_t>& story, std::vector<std::uint8_t>& introduced) {
    introduced.assign(story.size(), 0);
    if (settings.places == 0 || draws.uniform() >= settings.stories) return;
    const std::size_t known = stories().vocabulary().size();
    const std::int64_t first = draws.below(settings.places);
    std::int64_t taken = 0;
    thread_local std::vector<std::int32_t> read_as;  // by word
    read_as.assign(known, kNotMet);
    for (std::size_t t = 0; t < story.size(); ++t) {
        const std::int32_t word = story[t];
        std::int32_t& read = read_as[static_cast<std::size_t>(word)];
        if (read == kNotMet) {
            read = word;
            if (taken < settings.places && draws.uniform() < chance_of(settings, word)) {
                read = static_cast<std::int32_t>(known + static_cast<std::size_t>((first + taken++) % settings.places));
                introduced[t] = 1;
            }
        }
        story[t] = read;
    }
}

}  // namespace attn
