package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/dustin/go-humanize"
)

func size(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// rate returns bytes per second, such as "120 MB/s"; "" where no time has passed.
func rate(n int64, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return size(int64(float64(n)/d.Seconds())) + "/s"
}

// duration is d in its two largest units, and below a minute with a digit more where that tells something.
func duration(d time.Duration) string {
	d = max(0, d)
	switch s := d.Seconds(); {
	case s == 0:
		return "0s"
	case s < 9.95:
		return fmt.Sprintf("%.1fs", s)
	case s < 59.5:
		return fmt.Sprintf("%.0fs", s)
	}
	d = d.Round(time.Second)
	days, hours, minutes, seconds := d/(24*time.Hour), d/time.Hour%24, d/time.Minute%60, d/time.Second%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %02dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh %02dm", hours, minutes)
	}
	return fmt.Sprintf("%dm %02ds", minutes, seconds)
}

// brief is an image's name without its registry: people know it by that.
func brief(image string) string { return image[strings.LastIndexByte(image, '/')+1:] }

func ago(t, now time.Time) string { return humanize.RelTime(t, now, "ago", "from now") }

func jobURL(name string) string { return "/jobs/" + url.PathEscape(name) }

// clock is t for people, on this machine's clock.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// stamp is t for programs.
func stamp(t time.Time) string { return t.Format(time.RFC3339) }

// between is the time from one moment to another, or to now where that has not come.
func between(from, to *time.Time, now time.Time) time.Duration {
	if from == nil {
		return 0
	}
	if to == nil {
		to = aws.Time(now)
	}
	return max(0, to.Sub(*from))
}
