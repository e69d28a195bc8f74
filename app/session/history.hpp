#pragma once
/// Undo and redo over documents, which are small values.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"

namespace attn::app {

/// The current document, those before it and those undone.
class DocumentHistory {
public:
    /// Undo steps kept; the oldest go first.
    static constexpr std::size_t kMaxSteps = 500;

    explicit DocumentHistory(Document document);

    const std::shared_ptr<const Document>& current() const { return current_; }
    bool can_undo() const { return !undo_.empty(); }
    bool can_redo() const { return !redo_.empty(); }

    /// Makes `next` current. It joins the step before when both carry the same non-empty `merge` name; a step that ends where
    /// it began is no step. Returns false when nothing changed.
    bool change(Document next, const std::string& merge);
    /// Whether a document can still be shown; those that cannot are passed over.
    using Usable = std::function<bool(const Document&)>;
    /// Return how many steps they went; 0, and nothing is changed, when there is nothing usable to undo or redo.
    std::size_t undo(const Usable& usable = {});
    std::size_t redo(const Usable& usable = {});

private:
    using Steps = std::vector<std::shared_ptr<const Document>>;
    /// Makes the last usable one of `from` current; it and what is passed over go to `to`.
    std::size_t go(Steps& from, Steps& to, const Usable& usable);

    std::shared_ptr<const Document> current_;
    Steps undo_;         // oldest first
    Steps redo_;         // next one last
    std::string merge_;  // of the step that made current_
};

}  // namespace attn::app
