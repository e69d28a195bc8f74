#include "app/session/history.hpp"

#include <utility>

namespace attn::app {

DocumentHistory::DocumentHistory(Document document) : current_(std::make_shared<const Document>(std::move(document))) {}

bool DocumentHistory::change(Document next, const std::string& merge) {
    if (next == *current_) return false;
    const bool joins = !merge.empty() && merge == merge_ && !undo_.empty();
    redo_.clear();
    merge_ = merge;
    if (joins && *undo_.back() == next) {
        // The slider came back to where it started: the whole step is gone, and moving on begins a new one.
        current_ = undo_.back();
        undo_.pop_back();
        merge_.clear();
        return true;
    }
    if (!joins) {
        if (undo_.size() == kMaxSteps) undo_.erase(undo_.begin());
        undo_.push_back(current_);
    }
    current_ = std::make_shared<const Document>(std::move(next));
    return true;
}

bool DocumentHistory::undo() {
    if (undo_.empty()) return false;
    redo_.push_back(std::exchange(current_, undo_.back()));
    undo_.pop_back();
    merge_.clear();
    return true;
}

bool DocumentHistory::redo() {
    if (redo_.empty()) return false;
    undo_.push_back(std::exchange(current_, redo_.back()));
    redo_.pop_back();
    merge_.clear();
    return true;
}

}  // namespace attn::app
