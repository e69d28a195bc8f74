#pragma once
/// The text of every token id. Immutable, and copies share the memory: vocabularies are large and every snapshot holds one.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn::app {

class SharedWords {
public:
    SharedWords(std::vector<std::string> words = {}) : words_(std::make_shared<const std::vector<std::string>>(std::move(words))) {}

    operator const std::vector<std::string>&() const { return *words_; }
    std::size_t size() const { return words_->size(); }
    bool empty() const { return words_->empty(); }
    const std::string& operator[](std::size_t id) const { return (*words_)[id]; }
    const std::string& at(std::size_t id) const { return words_->at(id); }
    auto begin() const { return words_->begin(); }
    auto end() const { return words_->end(); }
    /// Whether both share the same memory, not merely equal words.
    bool shares_with(const SharedWords& other) const { return words_ == other.words_; }
    friend bool operator==(const SharedWords& a, const SharedWords& b) { return a.words_ == b.words_ || *a.words_ == *b.words_; }

private:
    std::shared_ptr<const std::vector<std::string>> words_;
};

}  // namespace attn::app
