import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func observe(_ center: MessageCenter) -> ObservationToken {
  var count = 0
  // expect-error: captured var 'count'
  return center.observe(TrackChanged.self) { _ in count += 1 }
}

// language mode 5: warning
