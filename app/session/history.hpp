#pragma once
/// Undo and redo. Keeps whole documents, which are small: those that were left hold no model open (see held_models.hpp).

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/document/document.hpp"

namespace attn::app {

/// The current document and the undo and redo stacks.
class DocumentHistory {
public:
    /// The most undo steps kept; the oldest are dropped first.
    static constexpr std::size_t kMaxSteps = 500;

    explicit DocumentHistory(Document document);

    const std::shared_ptr<const Document>& current() const { return current_.document; }
    /// What the current document is a version of: everything since begin_subject() was called, or since the beginning.
    std::size_t subject() const { return current_.subject; }
    /// The subjects that undo and redo can lead to, and the current one.
    std::set<std::size_t> subjects() const;
    /// The current document is the first version of something else, with a file of its own.
    void begin_subject() { current_.subject = ++last_subject_; }
    /// The documents that undo and redo can lead to, the nearest first.
    std::vector<std::shared_ptr<const Document>> others() const;
    bool can_undo() const { return !undo_.empty(); }
    bool can_redo() const { return !redo_.empty(); }
    /// What undo and redo would change, see changed_part(); "" if there is nothing.
    std::string_view undone_part() const { return can_undo() ? current_.changed : ""; }
    std::string_view redone_part() const { return can_redo() ? redo_.back().changed : ""; }
    /// There is nothing to undo or redo from here.
    void begin_here();

    /// Makes `next` current. Merges it into the last step if both carry the same non-empty `merge` name; a step that ends where it began is
    /// removed. Returns false if nothing changed.
    bool change(Document next, const std::string& merge);
    /// The document from before the last step if a change named `merge` would join that step; null otherwise.
    std::shared_ptr<const Document> before_joined(const std::string& merge) const;
    /// What follows is shown only temporarily. end_visit() turns it into one step, or none if the document from before is current again.
    /// Nothing is joined if something else was opened meanwhile: undo then leads back to it first.
    void begin_visit();
    void end_visit();
    /// Whether a document can still be shown; undo and redo skip those that cannot.
    using Usable = std::function<bool(const Document&)>;
    /// The nearest usable document that undo, redo or go_to() leads to; null if there is none.
    std::shared_ptr<const Document> next_undone(const Usable& usable = {}) const;
    std::shared_ptr<const Document> next_redone(const Usable& usable = {}) const;
    std::shared_ptr<const Document> next_of(std::size_t subject, const Usable& usable = {}) const;
    /// The models of the document that becomes current must be open, or among `opened`.
    using Models = std::vector<ModelRef>;
    /// Return how many steps they went. If no usable document is found they return 0 and change nothing.
    std::size_t undo(const Usable& usable = {}, const Models& opened = {});
    std::size_t redo(const Usable& usable = {}, const Models& opened = {});
    /// Goes to the nearest usable document of a subject, by undoing or else by redoing. Returns false, and changes nothing, if there is
    /// none.
    bool go_to(std::size_t subject, const Usable& usable = {}, const Models& opened = {});

private:
    struct Step {
        std::shared_ptr<const Document> document;
        std::size_t subject = 0;
        std::string_view changed{};  ///< the part that differs from the document before
    };
    using Steps = std::vector<Step>;
    /// Adds a step to undo; drops the oldest if there are too many.
    void keep(const Step& step);
    using Wanted = std::function<bool(const Step&)>;
    /// How far the nearest wanted document is; 0 if there is none.
    static std::size_t distance(const Steps& steps, const Wanted& wanted);
    static std::shared_ptr<const Document> nearest(const Steps& steps, const Wanted& wanted);
    /// Makes the nearest wanted document of `from` current; moves the old one and the skipped ones to `to`. Returns how many steps it went.
    std::size_t go(Steps& from, Steps& to, const Wanted& wanted, const Models& opened);
    void release_models_left();

    /// Everything as it was before a visit.
    struct Visit {
        Step current;
        Steps undo, redo;
        std::size_t last_subject = 0;
    };

    Step current_;
    std::size_t last_subject_ = 0;
    Steps undo_;         // oldest first
    Steps redo_;         // the next one last
    std::string merge_;  // name of the step that led to current_
    std::optional<Visit> visit_;
};

}  // namespace attn::app
