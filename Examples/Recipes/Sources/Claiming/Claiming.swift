import Campanile

@MainActor protocol LinkHandler: AnyObject {
  func open(_ link: String) -> Bool
}

final class Module: LinkHandler {
  let scheme: String
  init(_ scheme: String) { self.scheme = scheme }

  func open(_ link: String) -> Bool {
    guard link.hasPrefix(scheme) else { return false }
    print("\(scheme) opens \(link)")
    return true
  }
}

@main struct Claiming {
  @MainActor static func main() {
    let modules = [Module("mail:"), Module("music:"), Module("music:aria")]
    let handlers = Multicast<any LinkHandler>()
    for module in modules { handlers.add(module) }
    for link in ["music:aria", "door:open"] {
      let isOpen = handlers.first { $0.open(link) ? true : nil } ?? false
      if !isOpen { print("nobody opens \(link)") }
    }
    withExtendedLifetime(modules) {}
  }
}
