#include "app/session/history.hpp"

#include <algorithm>
#include <utility>

#include "app/session/document/changed_part.hpp"

namespace attn::app {

DocumentHistory::DocumentHistory(Document document) : current_{std::make_shared<const Document>(std::move(document))} {}

void DocumentHistory::begin_here() {
    undo_.clear();
    redo_.clear();
    merge_.clear();
    visit_.reset();
}

void DocumentHistory::begin_visit() { visit_ = Visit{current_, undo_, redo_, last_subject_}; }

void DocumentHistory::end_visit() {
    const std::optional<Visit> before = std::exchange(visit_, std::nullopt);
    if (!before || last_subject_ != before->last_subject) return;
    merge_.clear();
    undo_ = before->undo;
    if (*current_.document == *before->current.document) {
        current_ = before->current;
        redo_ = before->redo;
        return;
    }
    keep(before->current);
    redo_.clear();
    current_.changed = changed_part(*undo_.back().document, *current_.document);
}

bool DocumentHistory::change(Document next, const std::string& merge) {
    if (next == *current_.document) return false;
    const bool joins = before_joined(merge) != nullptr;
    redo_.clear();
    merge_ = merge;
    if (joins && *undo_.back().document == next) {
        // The slider is back where it started: remove the step; moving it again starts a new one.
        current_ = undo_.back();
        undo_.pop_back();
        merge_.clear();
        return true;
    }
    if (!joins) keep(current_);
    current_.document = std::make_shared<const Document>(std::move(next));
    current_.changed = changed_part(*undo_.back().document, *current_.document);
    return true;
}

std::shared_ptr<const Document> DocumentHistory::before_joined(const std::string& merge) const {
    return !merge.empty() && merge == merge_ && !undo_.empty() ? undo_.back().document : nullptr;
}

void DocumentHistory::keep(const Step& step) {
    if (undo_.size() == kMaxSteps) undo_.erase(undo_.begin());
    undo_.push_back(step);
}

std::set<std::size_t> DocumentHistory::subjects() const {
    std::set<std::size_t> subjects{current_.subject};
    for (const Steps* steps : {&undo_, &redo_})
        for (const Step& step : *steps) subjects.insert(step.subject);
    return subjects;
}

std::size_t DocumentHistory::undo(const Usable& usable) {
    return go(undo_, redo_, [&](const Step& step) { return !usable || usable(*step.document); });
}

std::size_t DocumentHistory::redo(const Usable& usable) {
    return go(redo_, undo_, [&](const Step& step) { return !usable || usable(*step.document); });
}

bool DocumentHistory::go_to(std::size_t subject, const Usable& usable) {
    const auto wanted = [&](const Step& step) { return step.subject == subject && (!usable || usable(*step.document)); };
    return go(undo_, redo_, wanted) > 0 || go(redo_, undo_, wanted) > 0;
}

std::size_t DocumentHistory::go(Steps& from, Steps& to, const Wanted& wanted) {
    const auto found = std::find_if(from.rbegin(), from.rend(), wanted);
    if (found == from.rend()) return 0;
    const auto steps = static_cast<std::size_t>(found - from.rbegin()) + 1;
    for (std::size_t i = 0; i < steps; ++i) {
        to.push_back(std::exchange(current_, from.back()));
        from.pop_back();
    }
    merge_.clear();
    return steps;
}

}  // namespace attn::app
