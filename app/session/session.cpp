#include "app/session/session.hpp"

#include <utility>

#include "app/session/analyst.hpp"
#include "app/session/history.hpp"
#include "app/session/presets.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

// Every document has at least one sequence, be it empty.
Document with_a_sequence(Document document) {
    if (document.texts.empty()) document.texts.emplace_back();
    return document;
}

}  // namespace

struct Session::Impl {
    Impl(Document document, std::function<void()> wake, Computation computation)
        : history(with_a_sequence(std::move(document))), analyst(std::move(computation), std::move(wake)) {}

    DocumentHistory history;
    std::string message;
    TrainingReport training{std::make_shared<const TrainingSnapshot>(), {}};
    Analyst analyst;
};

namespace {

/// Turns `document` into what a command makes of it; undo and redo belong to the history.
struct Change {
    Document document;
    void operator()(const command::SetTexts& set) {
        document.texts = set.texts;
        document.source_texts = set.source_texts;
    }
    void operator()(const command::SetTokenizer& set) { document.tokenizer = set.kind; }
    void operator()(const command::SetConfig& set) { document.config = set.config; }
    void operator()(const command::SetForward& set) { document.forward = set.forward; }
    void operator()(const command::OpenPreset& open) { document = open_preset(open.name); }
    void operator()(const command::OpenDocument& open) { document = open.document; }
    void operator()(const command::SetRun& set) { document.run = set.run; }
    void operator()(const command::SetSampling& set) { document.sampling = set.sampling; }
    template <class Other>
    void operator()(const Other&) {}
};

}  // namespace

Session::Session(Document document, std::function<void()> wake) : Session(std::move(document), std::move(wake), Computation::engine()) {}

Session::Session(Document document, std::function<void()> wake, Computation computation)
    : impl_(std::make_unique<Impl>(std::move(document), std::move(wake), std::move(computation))) {
    impl_->analyst.request(impl_->history.current());
}

Session::~Session() = default;

const Document& Session::document() const { return *impl_->history.current(); }

void Session::apply(const Command& command) {
    impl_->message.clear();
    bool changed = false;
    if (std::holds_alternative<command::Undo>(command.what)) {
        changed = impl_->history.undo();
        if (!changed) impl_->message = "there is nothing to undo";
    } else if (std::holds_alternative<command::Redo>(command.what)) {
        changed = impl_->history.redo();
        if (!changed) impl_->message = "there is nothing to redo";
    } else {
        try {
            Change change{document()};
            std::visit(change, command.what);
            changed = impl_->history.change(with_a_sequence(std::move(change.document)), command.merge);
        } catch (const Error& error) {
            impl_->message = error.what();
        }
    }
    if (changed) impl_->analyst.request(impl_->history.current());
}

void Session::update() {}

const TrainingReport& Session::training() const { return impl_->training; }

std::shared_ptr<const Snapshot> Session::snapshot() const { return impl_->analyst.snapshot(); }

std::shared_ptr<const Snapshot> Session::wait(bool verified) { return impl_->analyst.wait(verified); }

bool Session::can_undo() const { return impl_->history.can_undo(); }

bool Session::can_redo() const { return impl_->history.can_redo(); }

const std::string& Session::message() const { return impl_->message; }

}  // namespace attn::app
