#pragma once
/// A single request to the XDG desktop portal's file dialog:
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html

#include <chrono>
#include <functional>
#include <string>

#include "app/session/files/desktop_dialog.hpp"

namespace attn::app {

/// How long the portal may take to acknowledge a request. There is no limit for the user's answer.
inline constexpr std::chrono::milliseconds kPortalPatience{5000};

struct PortalCall {
    std::string address;             ///< of the session bus
    std::function<bool()> given_up;  ///< true: close the dialog and return Cancelled
    std::chrono::milliseconds patience = kPortalPatience;
};

/// The version of the portal's file dialog; 0 if there is none. Blocks.
unsigned portal_version(const PortalCall& call);

/// Shows the dialog and blocks until it is answered.
DesktopAnswer ask_portal(const PortalCall& call, const DesktopQuestion& question);

}  // namespace attn::app
