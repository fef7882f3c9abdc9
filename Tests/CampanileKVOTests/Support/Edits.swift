import CampanileKVO

/// What a change did to a collection, without where.
enum Edit: Sendable {
  case setting, insertion, removal, replacement, edits
}

extension KVOChange {
  var edit: Edit {
    switch kind {
    case .setting: .setting
    case .insertion: .insertion
    case .removal: .removal
    case .replacement: .replacement
    case .edits: .edits
    }
  }

  /// Where it did it; `nil` for a setting, and for several edits.
  var indexes: RangeSet<Int>? {
    switch kind {
    case .setting, .edits: nil
    case .insertion(let indexes), .removal(let indexes), .replacement(let indexes): indexes
    }
  }
}
