#include "engine/grammar/grammar.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Calls `each` for every word.
template <class Each>
void for_words(std::string_view words, Each each) {
    for (std::size_t begin = 0; begin < words.size();) {
        const std::size_t end = std::min(words.find(' ', begin), words.size());
        each(words.substr(begin, end - begin));
        begin = end + 1;
    }
}

/// Records a randomly drawn text.
class Writer : public Teller {
public:
    Writer(const Grammar& grammar, Draws& draws, std::span<std::int32_t> words) : grammar_(grammar), draws_(draws), words_(words) {}

    std::size_t choose(std::span<const int> weights) override {
        if (full()) return 0;
        std::int64_t left = draws_.below(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
        std::size_t way = 0;
        while (left >= weights[way]) left -= weights[way++];
        return way;
    }
    std::size_t among(std::size_t count) override {
        return full() ? 0 : static_cast<std::size_t>(draws_.below(static_cast<std::int64_t>(count)));
    }
    void say(std::string_view words) override {
        if (full()) return;
        for_words(words, [this](std::string_view word) {
            if (!full()) words_[count_++] = grammar_.id_of(word);
        });
    }
    std::int64_t count() const { return static_cast<std::int64_t>(count_); }

private:
    bool full() const { return count_ == words_.size(); }

    const Grammar& grammar_;
    Draws& draws_;
    std::span<std::int32_t> words_;
    std::size_t count_ = 0;
};

/// The way taken at each choice so far.
using Ways = std::vector<std::uint16_t>;

struct Told {
    Ways ways;
    double chance = 1;
};

/// Follows the given ways up to the word at one place, takes the first way at every later choice, and records the alternatives.
class Follower : public Teller {
public:
    Follower(Told told, std::size_t place, std::vector<Told>& others) : told_(std::move(told)), place_(place), others_(others) {}

    std::size_t choose(std::span<const int> weights) override {
        return go(weights.size(), std::accumulate(weights.begin(), weights.end(), 0.0),
                  [&](std::size_t way) { return static_cast<double>(weights[way]); });
    }
    std::size_t among(std::size_t count) override {
        return go(count, static_cast<double>(count), [](std::size_t) { return 1.0; });
    }
    void say(std::string_view words) override {
        if (found_) return;
        for_words(words, [this](std::string_view word) {
            if (said_++ == place_) found_ = word;
        });
    }
    /// The word at the place; nullopt if the text ends before it.
    const std::optional<std::string>& found() const { return found_; }
    Told& told() { return told_; }

private:
    template <class Weight>
    std::size_t go(std::size_t count, double sum, Weight weight) {
        if (found_) return 0;
        if (taken_ < told_.ways.size()) return told_.ways[taken_++];
        std::optional<std::size_t> first;
        for (std::size_t way = 0; way < count; ++way) {
            if (weight(way) == 0) continue;
            if (!first) {
                first = way;
                continue;
            }
            Told& other = others_.emplace_back(told_);
            other.ways.push_back(static_cast<std::uint16_t>(way));
            other.chance *= weight(way) / sum;
        }
        told_.chance *= weight(*first) / sum;
        told_.ways.push_back(static_cast<std::uint16_t>(*first));
        ++taken_;
        return *first;
    }

    Told told_;
    std::size_t place_, said_ = 0, taken_ = 0;
    std::vector<Told>& others_;
    std::optional<std::string> found_;
};

}  // namespace

double NextWord::entropy() const {
    double sum = 0;
    for (const WordChance& at : words) sum -= at.chance * std::log(at.chance);
    return sum;
}

double NextWord::chance_of(std::int32_t word) const {
    const auto at = std::lower_bound(words.begin(), words.end(), word, [](const WordChance& a, std::int32_t id) { return a.word < id; });
    return at != words.end() && at->word == word ? at->chance : 0;
}

Grammar::Grammar(std::vector<std::string> vocabulary, Telling telling) : vocabulary_(std::move(vocabulary)), telling_(telling) {
    for (const std::string& word : vocabulary_)
        if (!ids_.emplace(word, static_cast<std::int32_t>(ids_.size())).second)
            throw Error("the word \"" + word + "\" is given twice in the vocabulary of a grammar");
}

std::int32_t Grammar::id_of(std::string_view word) const {
    const auto at = ids_.find(word);
    if (at == ids_.end()) throw Error("the word \"" + std::string(word) + "\" is not in the vocabulary of the grammar");
    return at->second;
}

std::vector<std::int32_t> Grammar::ids_of(std::string_view words) const {
    std::vector<std::int32_t> ids;
    for_words(words, [&](std::string_view word) { ids.push_back(id_of(word)); });
    return ids;
}

std::int64_t Grammar::tell(Draws& draws, std::span<std::int32_t> words) const {
    Writer writer(*this, draws, words);
    telling_(writer);
    return writer.count();
}

std::vector<NextWord> Grammar::next_words(std::span<const std::int32_t> words) const {
    std::vector<NextWord> places;
    std::vector<Told> open(1), left;
    for (std::size_t place = 0; place <= words.size(); ++place) {
        std::map<std::int32_t, double> chances;
        std::vector<Told> next;
        left = std::move(open);
        while (!left.empty()) {
            Told told = std::move(left.back());
            left.pop_back();
            Follower follower(std::move(told), place, left);
            telling_(follower);
            if (!follower.found()) continue;  // the text ended before this place
            const std::int32_t word = id_of(*follower.found());
            chances[word] += follower.told().chance;
            if (place < words.size() && word == words[place]) next.push_back(std::move(follower.told()));
        }
        NextWord& at = places.emplace_back();
        for (const auto& [word, chance] : chances) at.words.push_back({word, chance});
        if (place == words.size()) break;
        const double chance = at.chance_of(words[place]);
        if (!(chance > 0))
            throw Error("\"" + vocabulary_.at(static_cast<std::size_t>(words[place])) + "\" cannot be word " + std::to_string(place + 1) +
                        " of this text of the grammar");
        for (Told& told : next) told.chance /= chance;
        open = std::move(next);
    }
    return places;
}

}  // namespace attn
