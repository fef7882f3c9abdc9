/// The table at the end: what was posted or set, and how often and where each observer was called.
struct Report {
  let posted: [Tally]
  let observers: [Tally]

  var lines: [String] {
    let head = row("posted or set", "times", "")
    let body = posted.map { row($0.name, "\($0.count)", "") }
    let observerHead = row("observer", "deliveries", "ran on")
    let observerBody = observers.map { tally in
      row(tally.name, "\(tally.count)", tally.places.joined(separator: ", "))
    }
    return ["", head] + body + ["", observerHead] + observerBody + [""]
  }

  private func row(_ name: String, _ count: String, _ place: String) -> String {
    let gap = String(repeating: " ", count: max(1, 32 - name.count - count.count))
    return name + gap + count + (place.isEmpty ? "" : "  " + place)
  }
}
