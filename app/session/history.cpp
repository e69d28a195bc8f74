#include "app/session/history.hpp"

#include <algorithm>
#include <utility>

#include "app/session/document/changed_part.hpp"
#include "app/session/document/held_models.hpp"

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
        release_models_left();
        return;
    }
    keep(before->current);
    redo_.clear();
    current_.changed = changed_part(*undo_.back().document, *current_.document);
    release_models_left();
}

bool DocumentHistory::change(Document next, const std::string& merge) {
    if (next == *current_.document) return false;
    const bool joins = before_joined(merge) != nullptr;
    redo_.clear();
    merge_ = merge;
    if (joins && *undo_.back().document == next) {
        // The slider is back where it started: remove the step; moving it again starts a new one.
        const std::shared_ptr<const Document> last = std::exchange(current_, undo_.back()).document;
        current_.document = holding_models(std::move(current_.document), models_of(*last));
        undo_.pop_back();
        merge_.clear();
        return true;
    }
    if (!joins) keep(current_);
    current_.document = std::make_shared<const Document>(std::move(next));
    current_.changed = changed_part(*undo_.back().document, *current_.document);
    release_models_left();
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

std::vector<std::shared_ptr<const Document>> DocumentHistory::others() const {
    std::vector<std::shared_ptr<const Document>> others;
    for (std::size_t away = 1; away <= std::max(undo_.size(), redo_.size()); ++away)
        for (const Steps* steps : {&undo_, &redo_})
            if (away <= steps->size()) others.push_back((*steps)[steps->size() - away].document);
    return others;
}

namespace {

auto wanted_of(const DocumentHistory::Usable& usable) {
    return [&](const auto& step) { return !usable || usable(*step.document); };
}

auto wanted_of(std::size_t subject, const DocumentHistory::Usable& usable) {
    return [subject, &usable](const auto& step) { return step.subject == subject && (!usable || usable(*step.document)); };
}

}  // namespace

std::size_t DocumentHistory::distance(const Steps& steps, const Wanted& wanted) {
    const auto found = std::find_if(steps.rbegin(), steps.rend(), wanted);
    return found == steps.rend() ? 0 : static_cast<std::size_t>(found - steps.rbegin()) + 1;
}

std::shared_ptr<const Document> DocumentHistory::nearest(const Steps& steps, const Wanted& wanted) {
    const std::size_t far = distance(steps, wanted);
    return far == 0 ? nullptr : steps[steps.size() - far].document;
}

std::shared_ptr<const Document> DocumentHistory::next_undone(const Usable& usable) const { return nearest(undo_, wanted_of(usable)); }

std::shared_ptr<const Document> DocumentHistory::next_redone(const Usable& usable) const { return nearest(redo_, wanted_of(usable)); }

std::shared_ptr<const Document> DocumentHistory::next_of(std::size_t subject, const Usable& usable) const {
    const auto back = nearest(undo_, wanted_of(subject, usable));
    return back != nullptr ? back : nearest(redo_, wanted_of(subject, usable));
}

std::size_t DocumentHistory::undo(const Usable& usable, const Models& opened) { return go(undo_, redo_, wanted_of(usable), opened); }

std::size_t DocumentHistory::redo(const Usable& usable, const Models& opened) { return go(redo_, undo_, wanted_of(usable), opened); }

bool DocumentHistory::go_to(std::size_t subject, const Usable& usable, const Models& opened) {
    const Wanted wanted = wanted_of(subject, usable);
    return go(undo_, redo_, wanted, opened) > 0 || go(redo_, undo_, wanted, opened) > 0;
}

std::size_t DocumentHistory::go(Steps& from, Steps& to, const Wanted& wanted, const Models& opened) {
    const std::size_t steps = distance(from, wanted);
    if (steps == 0) return 0;
    Models held = models_of(*current_.document);
    held.insert(held.end(), opened.begin(), opened.end());
    for (std::size_t i = 0; i < steps; ++i) {
        to.push_back(std::exchange(current_, from.back()));
        from.pop_back();
    }
    current_.document = holding_models(std::move(current_.document), held);
    merge_.clear();
    release_models_left();
    return steps;
}

void DocumentHistory::release_models_left() {
    const std::vector<ModelRef> kept = models_of(*current_.document);
    const auto release = [&](Steps& steps) {
        for (Step& step : steps) step.document = releasing_models(std::move(step.document), kept);
    };
    release(undo_);
    release(redo_);
    if (!visit_) return;
    release(visit_->undo);
    release(visit_->redo);
}

}  // namespace attn::app
