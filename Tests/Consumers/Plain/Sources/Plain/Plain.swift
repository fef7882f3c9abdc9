public import Campanile
import CampanileInspector

public struct Rang: MessageCenter.Message {
  public init() {}
}

/// Posts, and counts in a trace.
public func ring(_ center: MessageCenter) -> Int {
  let trace = Trace(of: center)
  center.post(Rang())
  return trace.posts(of: Rang.self).count
}
