#include "engine/tokenizer/vocabulary.hpp"

#include <fmt/format.h>

#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

void Vocabulary::add(std::string_view text, std::int64_t id) {
    if (id < 0 || id >= kMaxIds)
        throw ConfigError(fmt::format("the token \"{}\" has the id {}; expected 0 to {}", escaped(text), id, kMaxIds - 1));
    if (id >= size()) texts_.resize(static_cast<std::size_t>(id) + 1);
    std::optional<std::string>& place = texts_[static_cast<std::size_t>(id)];
    if (place) throw ConfigError(fmt::format("the tokens \"{}\" and \"{}\" have the same id {}", escaped(*place), escaped(text), id));
    place = std::string(text);
    ids_[*place] = static_cast<std::int32_t>(id);
}

std::optional<std::int32_t> Vocabulary::find(std::string_view text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
}

const std::string* Vocabulary::text(std::int64_t id) const {
    if (id < 0 || id >= size()) return nullptr;
    const std::optional<std::string>& place = texts_[static_cast<std::size_t>(id)];
    return place ? &*place : nullptr;
}

}  // namespace attn
