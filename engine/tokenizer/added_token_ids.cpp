#include "engine/tokenizer/added_token_ids.hpp"

#include <algorithm>

namespace attn {

void AddedTokenIds::add(AddedToken token) {
    if (token.content.empty()) return;
    const auto [place, fresh] = places_.try_emplace(token.content, tokens_.size());
    if (fresh) {
        token.id = vocabulary_.find(token.content).value_or(static_cast<std::int32_t>(next_));
        next_ = std::max(next_, token.id + std::int64_t{1});
        tokens_.push_back(std::move(token));
    } else {
        AddedToken& before = tokens_[place->second];
        token.id = before.id;
        before = std::move(token);
    }
}

std::optional<std::int32_t> AddedTokenIds::find(std::string_view text) const {
    const auto place = places_.find(std::string(text));
    return place != places_.end() ? tokens_[place->second].id : vocabulary_.find(text);
}

}  // namespace attn
